package forkjoin_test

import (
	"errors"
	"iter"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/sched/forkjoin"
	"fiberlab/tests/internal/forktest"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

// overSome is for tests that need multi-threaded workers.
var overSome = suite.Over{Workers: []int{1, 2, 8}}

// onClosed makes a scheduler and a pool that test closes.
func onClosed(t *testing.T, test func(t *testing.T, s *sched.Scheduler, p *forkjoin.Pool)) {
	forktest.EachConfig(
		t, suite.Over{Workers: forktest.Workers},
		func(t *testing.T, cfg sched.Config, form forkjoin.Form) {
			suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
				p, err := forkjoin.New(s, forkjoin.Config{Form: form})
				require.NoError(t, err)
				test(t, s, p)
			})
		},
	)
}

// Close reports how many futures are live, disposes of results that have not been fetched, and what is submitted later
// fails.
func TestCloseWithLiveFutures(t *testing.T) {
	onClosed(t, func(t *testing.T, s *sched.Scheduler, p *forkjoin.Pool) {
		var disposed atomic.Int32
		var futures []*forkjoin.Future[int]
		for i := range 10 {
			f := forkjoin.Submit(p, func(*forkjoin.Pool) (int, error) { return i, nil })
			f.Discard(func(v int) { assert.Equal(t, i, v); disposed.Add(1) })
			switch {
			case i < 3:
				_, err := f.Get()
				assert.NoError(t, err)
			case i < 6:
				waitUntilReady(t, s, f)
			case i < 8:
				f.Drop()
			}
			futures = append(futures, f)
		}
		before := disposed.Load()
		err := p.Close()
		assert.ErrorIs(t, err, forkjoin.ErrLive)
		assert.ErrorContains(t, err, "5 live futures")
		disposed.Add(-before)
		ran := 0
		for _, f := range futures[8:] { // they may have begun
			assert.Equal(t, fibersync.Completed, f.Status())
			v, err := f.Get()
			assert.Zero(t, v)
			if assert.Error(t, err) && !errors.Is(err, forkjoin.ErrClosed) {
				assert.ErrorIs(t, err, forkjoin.ErrDropped)
				ran++
			}
		}
		assert.EqualValues(t, 3+ran, disposed.Load())
		for _, f := range futures[3:6] {
			_, err := f.Get()
			assert.ErrorIs(t, err, forkjoin.ErrDropped)
			f.Drop()
		}
		for i, f := range futures[:3] {
			v, err := f.Get()
			assert.Equal(t, i, v)
			assert.NoError(t, err)
		}
		assert.ErrorIs(t, p.Close(), forkjoin.ErrClosed)
		f := forkjoin.Submit(p, func(*forkjoin.Pool) (int, error) { t.Error("a task runs after Close"); return 1, nil })
		assert.True(t, f.Ready())
		_, err = f.Get()
		assert.ErrorIs(t, err, forkjoin.ErrClosed)
		f.Drop()
		_, err = f.Get()
		assert.ErrorIs(t, err, forkjoin.ErrClosed)
		assert.Zero(t, p.Stats().Live)
	})
}

// A task of the pool cannot close it, at whatever depth.
func TestCloseInATask(t *testing.T) {
	forktest.EachPool(t, func(t *testing.T, s *sched.Scheduler, p *forkjoin.Pool) {
		root := p
		forktest.FromEach(t, s, p, func(p *forkjoin.Pool) {
			closeIt := func(p *forkjoin.Pool) (int, error) { return 1, p.Close() }
			_, err := forkjoin.Submit(p, closeIt).Get()
			assert.ErrorIs(t, err, forkjoin.ErrInTask)
			e1, e2 := forkjoin.Join(
				p, func(*forkjoin.Pool) error { return root.Close() },
				func(p *forkjoin.Pool) error { return p.Close() },
			)
			assert.ErrorIs(t, e1, forkjoin.ErrInTask)
			assert.ErrorIs(t, e2, forkjoin.ErrInTask)
			_, err = forkjoin.Submit(p, func(p *forkjoin.Pool) (int, error) {
				return fibersync.Call(func() (int, error) { return 1, p.Close() })
			}).Get()
			assert.ErrorIs(t, err, forkjoin.ErrInTask)
		})
	})
}

// A coroutine of iter.Pull is part of the task that calls it: it cannot close the pool, and it may fork while Close
// waits for the task. It may end a scope after the end of the Join in which it has begun that.
func TestCoroutineOfATask(t *testing.T) {
	over := suite.Over{Workers: forktest.Workers, Only: suite.HasThreads}
	forktest.EachConfig(t, over, func(t *testing.T, cfg sched.Config, form forkjoin.Form) {
		suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			p, err := forkjoin.New(s, forkjoin.Config{Form: form})
			require.NoError(t, err)
			closed := make(chan error, 1)
			coroutine := func(yield func(int) bool) {
				assert.ErrorIs(t, p.Close(), forkjoin.ErrInTask)
				go func() { closed <- p.Close() }()
				for open := true; open; { // until Close has begun
					outside(func() { open = recovered(func() { forkjoin.Join(p, nothing, nothing) }) == nil })
				}
				assert.Equal(t, 55, fib(p, 10))
				forkjoin.InScope(p, func(*forkjoin.Pool, *forkjoin.Scope) { yield(1) })
			}
			schedtest.Perform(t, s, func() {
				var stop func()
				forkjoin.Join(p, func(*forkjoin.Pool) int {
					var next func() (int, bool)
					next, stop = iter.Pull(coroutine)
					next()
					return 0
				}, nothing)
				sched.Sleep(time.Millisecond)
				stop()
				sched.Sleep(time.Millisecond)
			})
			assert.NoError(t, <-closed)
		})
	})
}

// Close waits for a task in progress, for the tasks that it submits, and for those that they submit.
func TestCloseWhileTasksSubmit(t *testing.T) {
	onClosed(t, func(t *testing.T, s *sched.Scheduler, p *forkjoin.Pool) {
		var ran atomic.Int32
		h := newHeld()
		var submit func(p *forkjoin.Pool, depth int)
		submit = func(p *forkjoin.Pool, depth int) {
			for range 2 {
				f := forkjoin.Submit(p, func(p *forkjoin.Pool) (int, error) {
					if ran.Add(1); depth > 0 {
						submit(p, depth-1)
					}
					return 0, nil
				})
				if depth%2 == 0 {
					_, err := f.Get()
					assert.NoError(t, err)
				}
			}
		}
		f := forkjoin.Submit(p, func(p *forkjoin.Pool) (int, error) {
			_, _ = h.task(p)
			submit(p, 5)
			return 42, nil
		})
		h.begun.Wait()
		over := schedtest.NewLatch(1)
		go func() {
			defer over.Done()
			assert.ErrorIs(t, p.Close(), forkjoin.ErrLive)
			assert.EqualValues(t, 2+4+8+16+32+64, ran.Load(), "Close has returned before tasks that tasks submitted")
		}()
		for rejected := false; !rejected; { // until Close has begun
			probe := forkjoin.Submit(p, func(*forkjoin.Pool) (int, error) { return 0, nil })
			_, err := probe.Get()
			rejected = errors.Is(err, forkjoin.ErrClosed)
			yield()
		}
		h.goOn.Signal()
		over.Wait()
		v, err := f.Get()
		assert.Equal(t, 42, v)
		assert.NoError(t, err)
	})
}

// A pool that is closed after its scheduler works until then.
func TestSchedulerIsClosedFirst(t *testing.T) {
	forktest.EachConfig(t, overSome, func(t *testing.T, cfg sched.Config, form forkjoin.Form) {
		s, err := sched.New(cfg)
		require.NoError(t, err)
		p, err := forkjoin.New(s, forkjoin.Config{Form: form})
		require.NoError(t, err)
		f := forkjoin.Submit(p, func(p *forkjoin.Pool) (int, error) { return fib(p, 10), nil })
		closed := make(chan error)
		go func() { closed <- s.Close() }()
		v, err := f.Get()
		assert.Equal(t, 55, v)
		assert.NoError(t, err)
		assert.NoError(t, <-closed)
		// Goroutines run the tasks. A task that waits does not keep others from running.
		f = forkjoin.Submit(p, func(p *forkjoin.Pool) (int, error) {
			f := forkjoin.Submit(p, func(p *forkjoin.Pool) (int, error) { return fib(p, 10), nil })
			<-f.Done()
			return f.Get()
		})
		<-f.Done()
		v, err = f.Get()
		assert.Equal(t, 55, v)
		assert.NoError(t, err)
		assert.Equal(t, 55, fib(p, 10))
		assert.NoError(t, p.Close())
	})
}

// What was submitted from outside and has not begun when Close is called never runs.
func TestCloseDropsWhatHasNotBegun(t *testing.T) {
	onClosed(t, func(t *testing.T, s *sched.Scheduler, p *forkjoin.Pool) {
		submit := func() *forkjoin.Future[int] {
			return forkjoin.Submit(
				p, func(*forkjoin.Pool) (int, error) { t.Error("a task runs after Close"); return 1, nil },
			)
		}
		closed := func() bool {
			f := forkjoin.Submit(p, func(*forkjoin.Pool) (int, error) { return 1, nil })
			if f.Ready() {
				_, err := f.Get()
				return errors.Is(err, forkjoin.ErrClosed)
			}
			f.Drop()
			return false
		}
		release := func() {}
		if s.Workers() > 0 {
			release = holdWorkers(t, s)
		}
		f, g := submit(), submit()
		over := schedtest.NewLatch(1)
		go func() {
			defer over.Done()
			assert.ErrorContains(t, p.Close(), "2 live futures")
		}()
		for !closed() {
			runtime.Gosched()
		}
		release()
		over.Wait()
		for _, f := range []*forkjoin.Future[int]{f, g} {
			_, err := f.Get()
			assert.ErrorIs(t, err, forkjoin.ErrClosed)
		}
	})
}
