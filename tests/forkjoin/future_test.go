package forkjoin_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/sched/forkjoin"
	"fiberlab/tests/internal/check"
	"fiberlab/tests/internal/crash"
	"fiberlab/tests/internal/forktest"
	"fiberlab/tests/internal/schedtest"
)

var errDeliberate = errors.New("deliberate")

// outside calls f on a goroutine that is no fiber, and returns when f has returned.
// The caller does not block its thread.
func outside(f func()) {
	over := schedtest.NewLatch(1)
	go func() {
		defer over.Done()
		f()
	}()
	over.Wait()
}

// yield lets others run.
func yield() {
	if sched.Current() != nil {
		sched.Yield()
	}
	runtime.Gosched()
}

// A task that is held, once it runs, until it may go on.
type held struct {
	begun, goOn *fibersync.Event
	ran         atomic.Int32
}

func newHeld() *held {
	return &held{
		begun: fibersync.NewEvent(fibersync.ManualReset, false), goOn: fibersync.NewEvent(fibersync.ManualReset, false),
	}
}

func (h *held) task(*forkjoin.Pool) (int, error) {
	h.ran.Add(1)
	h.begun.Signal()
	h.goOn.Wait()
	return 42, nil
}

// A future that is not started stays so while each worker is busy with the caller.
func notStarted(t *testing.T, s *sched.Scheduler, p *forkjoin.Pool, test func(p *forkjoin.Pool)) {
	n := max(1, s.Workers())
	var met sync.WaitGroup
	var mu sync.Mutex // tests may not be called at the same time
	over := make(chan struct{})
	latch := schedtest.NewLatch(n)
	met.Add(n)
	for i := range n {
		schedtest.Schedule(t, s, func() {
			defer latch.Done()
			met.Done()
			if met.Wait(); i > 0 {
				<-over // with its thread
				return
			}
			defer close(over)
			mu.Lock()
			defer mu.Unlock()
			test(p)
		})
	}
	latch.Wait()
}

func TestStatuses(t *testing.T) {
	forktest.EachPool(t, func(t *testing.T, s *sched.Scheduler, p *forkjoin.Pool) {
		notStarted(t, s, p, func(p *forkjoin.Pool) {
			f := forkjoin.Submit(p, func(*forkjoin.Pool) (int, error) { return 42, errDeliberate })
			assert.Equal(t, "NOT_STARTED", f.Status().String())
			assert.False(t, f.Ready())
			v, err := f.Get()
			assert.Equal(t, 42, v)
			assert.ErrorIs(t, err, errDeliberate)
			assert.Equal(t, "COMPLETED", f.Status().String())
			assert.True(t, f.Ready())
			<-f.Done()
		})
		h := newHeld()
		f := forkjoin.Submit(p, h.task)
		h.begun.Wait()
		assert.Equal(t, "IN_PROGRESS", f.Status().String())
		assert.False(t, f.Ready())
		h.goOn.Signal()
		for range 3 {
			v, err := f.Get()
			assert.Equal(t, 42, v)
			assert.NoError(t, err)
		}
		assert.EqualValues(t, 1, h.ran.Load())
		check.PanicsWith(t, fibersync.ErrNilFunc, func() { forkjoin.Submit[int](p, nil) })
	})
}

// Many callers, fibers and goroutines, in the pool and outside of it, ask for the same result.
func TestManyGet(t *testing.T) {
	forktest.EachPool(t, func(t *testing.T, s *sched.Scheduler, p *forkjoin.Pool) {
		for round := range 10 {
			var ran atomic.Int32
			f := forkjoin.Submit(p, func(p *forkjoin.Pool) (int, error) {
				yield()
				return fib(p, 5), fmt.Errorf("round %d: %w", ran.Add(1), errDeliberate)
			})
			get := func() {
				v, err := f.Get()
				assert.Equal(t, 5, v)
				assert.ErrorIs(t, err, errDeliberate)
			}
			over := schedtest.NewLatch(8)
			for i := range 8 {
				switch (i + round) % 3 {
				case 0:
					schedtest.Schedule(t, s, func() { defer over.Done(); get() })
				case 1:
					go func() { defer over.Done(); get() }()
				case 2:
					g := forkjoin.Submit(
						p, func(*forkjoin.Pool) (int, error) { defer over.Done(); get(); return 1, nil },
					)
					go func() { _, _ = g.Get() }()
				}
			}
			over.Wait()
			get()
			assert.EqualValues(t, 1, ran.Load())
		}
		for p.Stats().Live > 0 {
			yield()
		}
	})
}

func fib(p *forkjoin.Pool, n int) int {
	if n < 2 {
		return n
	}
	a, b := forkjoin.Join(p,
		func(p *forkjoin.Pool) int { return fib(p, n-1) },
		func(p *forkjoin.Pool) int { return fib(p, n-2) })
	return a + b
}

// A panic travels to each caller of Get, with its value and its stack.
func TestPanicOfAFuture(t *testing.T) {
	forktest.EachPool(t, func(t *testing.T, s *sched.Scheduler, p *forkjoin.Pool) {
		forktest.FromEach(t, s, p, func(p *forkjoin.Pool) {
			f := forkjoin.Submit(p, func(p *forkjoin.Pool) (int, error) {
				g := forkjoin.Submit(
					p, func(*forkjoin.Pool) (int, error) { crash.PanicWith(errDeliberate); return 0, nil },
				)
				return g.Get()
			})
			for range 2 {
				err := panicOf(t, func() { _, _ = f.Get() })
				assert.ErrorIs(t, err, errDeliberate)
				var p *fibersync.PanicError
				if assert.ErrorAs(t, err, &p) {
					assert.Equal(t, errDeliberate, p.Value)
					assert.Contains(t, string(p.Stack), "crash.PanicWith")
				}
			}
		})
	})
}

// panicOf returns the error with which f panics.
func panicOf(t *testing.T, f func()) (err error) {
	t.Helper()
	defer func() {
		t.Helper()
		value := recover()
		assert.NotNil(t, value, "no panic")
		err, _ = value.(error)
	}()
	f()
	return nil
}

// Drop in each state.
func TestDrop(t *testing.T) {
	forktest.EachPool(t, func(t *testing.T, s *sched.Scheduler, p *forkjoin.Pool) {
		none := func(int) { t.Error("a result is disposed of that is none, or has been fetched") }
		notStarted(t, s, p, func(p *forkjoin.Pool) {
			for _, drop := range []func(f *forkjoin.Future[int]){
				func(f *forkjoin.Future[int]) { f.Drop() },
				func(f *forkjoin.Future[int]) {
					over := make(chan struct{})
					go func() { defer close(over); f.Drop() }()
					<-over // with the thread, which would run the task
				},
			} {
				f := forkjoin.Submit(
					p, func(*forkjoin.Pool) (int, error) { t.Error("a task runs that was dropped"); return 1, nil },
				)
				f.Discard(none)
				drop(f)
				f.Drop()
				assert.Equal(t, fibersync.Completed, f.Status())
				v, err := f.Get()
				assert.Zero(t, v)
				assert.ErrorIs(t, err, forkjoin.ErrDropped)
				assert.Zero(t, p.Stats().Live)
			}
		})
		for _, fails := range []error{nil, errDeliberate} {
			h := newHeld()
			disposed := 0
			f := forkjoin.Submit(p, func(p *forkjoin.Pool) (int, error) {
				_, _ = h.task(p)
				return 42, fails
			})
			f.Discard(func(v int) {
				assert.Equal(t, 42, v)
				disposed++
			})
			h.begun.Wait()
			var dropped atomic.Bool
			over := schedtest.NewLatch(1)
			go func() {
				defer over.Done()
				f.Drop()
				assert.True(t, f.Ready(), "Drop has not waited")
				dropped.Store(true)
			}()
			for range 100 {
				runtime.Gosched()
			}
			assert.False(t, dropped.Load(), "Drop has not waited")
			h.goOn.Signal()
			over.Wait()
			assert.Equal(t, map[error]int{nil: 1, errDeliberate: 0}[fails], disposed)
			_, err := f.Get()
			assert.ErrorIs(t, err, forkjoin.ErrDropped)
			f.Drop()
		}
		disposed := 0
		f := forkjoin.Submit(p, func(*forkjoin.Pool) (int, error) { return 42, nil })
		f.Discard(func(int) { disposed++ })
		waitUntilReady(t, s, f)
		f.Drop()
		f.Drop()
		assert.Equal(t, 1, disposed, "after the task was complete")

		f = forkjoin.Submit(p, func(*forkjoin.Pool) (int, error) { return 42, nil })
		f.Discard(none)
		_, err := f.Get()
		assert.NoError(t, err)
		f.Drop()
		v, err := f.Get()
		assert.Equal(t, 42, v, "after Get, Drop does nothing")
		assert.NoError(t, err)
		check.PanicsWith(t, fibersync.ErrNilFunc, func() { f.Discard(nil) })
	})
}

// waitUntilReady waits until a drainer has run the task, whose result no caller asks for.
func waitUntilReady[T any](t *testing.T, s *sched.Scheduler, f *forkjoin.Future[T]) {
	t.Helper()
	if sched.Current() != nil {
		outside(func() { <-f.Done() })
	} else {
		<-f.Done()
	}
}

// Drop and Get at the same time: either Get has the result, or the result is disposed of.
func TestDropAgainstGet(t *testing.T) {
	forktest.EachPool(t, func(t *testing.T, s *sched.Scheduler, p *forkjoin.Pool) {
		for range 100 {
			var disposed, got, ran atomic.Int32
			over := schedtest.NewLatch(3)
			f := forkjoin.Submit(p, func(*forkjoin.Pool) (int, error) { ran.Add(1); return 42, nil })
			f.Discard(func(int) { disposed.Add(1) })
			get := func() {
				defer over.Done()
				if v, err := f.Get(); err == nil {
					assert.Equal(t, 42, v)
					got.Add(1)
				} else {
					assert.ErrorIs(t, err, forkjoin.ErrDropped)
				}
			}
			schedtest.Schedule(t, s, get)
			go get()
			schedtest.Schedule(t, s, func() { defer over.Done(); f.Drop() })
			over.Wait()
			assert.Equal(t, ran.Load() == 1, disposed.Load() == 1 || got.Load() > 0, "a result is lost")
			assert.False(t, disposed.Load() == 1 && got.Load() > 0, "a result is fetched and disposed of")
		}
	})
}

// A task that asks for its own future would wait without end.
func TestSelf(t *testing.T) {
	forktest.EachPool(t, func(t *testing.T, s *sched.Scheduler, p *forkjoin.Pool) {
		forktest.FromEach(t, s, p, func(p *forkjoin.Pool) {
			var f *forkjoin.Future[int]
			known := fibersync.NewEvent(fibersync.ManualReset, false)
			f = forkjoin.Submit(p, func(p *forkjoin.Pool) (int, error) {
				known.Wait()
				check.PanicsWith(t, forkjoin.ErrSelf, func() { _, _ = f.Get() })
				check.PanicsWith(t, forkjoin.ErrSelf, func() { _, _ = f.GetContext(context.Background()) })
				check.PanicsWith(t, forkjoin.ErrSelf, func() { f.Drop() })
				return 1, nil
			})
			known.Signal()
			v, err := f.Get()
			assert.Equal(t, 1, v)
			assert.NoError(t, err)
		})
	})
}

// GetContext in each state.
func TestGetContext(t *testing.T) {
	forktest.EachPool(t, func(t *testing.T, s *sched.Scheduler, p *forkjoin.Pool) {
		done, cancel := context.WithCancelCause(context.Background())
		cancel(errDeliberate)
		notStarted(t, s, p, func(p *forkjoin.Pool) {
			var ran atomic.Bool
			f := forkjoin.Submit(p, func(*forkjoin.Pool) (int, error) { ran.Store(true); return 42, nil })
			var none context.Context
			check.PanicsWith(t, fibersync.ErrNilContext, func() { _, _ = f.GetContext(none) })
			_, err := f.GetContext(done)
			assert.ErrorIs(t, err, errDeliberate)
			assert.False(t, ran.Load())
			assert.Equal(t, 1, p.Stats().Live)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			v, err := f.GetContext(ctx)
			assert.Equal(t, 42, v)
			assert.NoError(t, err)
			v, err = f.GetContext(done)
			assert.Equal(t, 42, v, "what is there is returned")
			assert.NoError(t, err)
		})
		for _, panics := range []bool{false, true} {
			h := newHeld()
			f := forkjoin.Submit(p, func(p *forkjoin.Pool) (int, error) {
				v, err := h.task(p)
				if panics {
					panic("deliberate")
				}
				return v, err
			})
			h.begun.Wait()
			_, err := f.GetContext(done)
			assert.ErrorIs(t, err, errDeliberate)
			ctx, cancelLater := context.WithCancelCause(context.Background())
			go cancelLater(errDeliberate)
			_, err = f.GetContext(ctx)
			assert.ErrorIs(t, err, errDeliberate)
			assert.Equal(t, 1, p.Stats().Live, "a wait that was given up fetches nothing")
			h.goOn.Signal()
			if panics {
				check.PanicsWith(t, fibersync.ErrNilFunc, func() { forkjoin.Submit[int](p, nil) })
				assert.Error(t, panicOf(t, func() { _, _ = f.Get() }))
				continue
			}
			v, err := f.Get()
			assert.Equal(t, 42, v)
			assert.NoError(t, err)
		}
	})
}

// A context that ends when the task does: the result is either there, and fetched, or not fetched, so that Drop
// disposes of it.
func TestGetContextAtTheLastMoment(t *testing.T) {
	forktest.EachPool(t, func(t *testing.T, s *sched.Scheduler, p *forkjoin.Pool) {
		for i := range 200 {
			ctx, cancel := context.WithCancelCause(context.Background())
			h := newHeld()
			f := forkjoin.Submit(p, func(p *forkjoin.Pool) (int, error) {
				v, err := h.task(p)
				if i%4 == 3 {
					panic(fmt.Errorf("of the task"))
				}
				return v, err
			})
			var disposed atomic.Int32
			f.Discard(func(int) { disposed.Add(1) })
			h.begun.Wait()
			over := schedtest.NewLatch(1)
			get := func() {
				defer over.Done()
				defer func() {
					if err, ok := recover().(error); ok {
						assert.NotErrorIs(t, err, errDeliberate, "a panic of the task that is the context's")
						assert.Equal(t, 3, i%4)
					}
				}()
				v, err := f.GetContext(ctx)
				f.Drop()
				if err == nil {
					assert.Equal(t, 42, v)
					assert.Zero(t, disposed.Load())
				} else if assert.ErrorIs(t, err, errDeliberate) && i%4 != 3 {
					assert.EqualValues(t, 1, disposed.Load(), "the result is lost")
				}
			}
			if i%2 == 0 {
				go get()
			} else {
				schedtest.Schedule(t, s, get)
			}
			go cancel(errDeliberate)
			h.goOn.Signal()
			over.Wait()
		}
	})
}

// Config.Forgotten is told of a future that has gone out of reach before its result was fetched or dropped,
// and of no other.
func TestForgotten(t *testing.T) {
	forktest.EachConfig(t, overSome, func(t *testing.T, cfg sched.Config, form forkjoin.Form) {
		var told atomic.Int32
		s, err := sched.New(cfg)
		require.NoError(t, err)
		defer func() { assert.NoError(t, s.Close()) }()
		p, err := forkjoin.New(s, forkjoin.Config{Form: form, Forgotten: func(what string) {
			assert.Contains(t, what, "Get or Drop")
			told.Add(1)
		}})
		require.NoError(t, err)
		func() {
			for i := range 20 {
				f := forkjoin.Submit(p, func(*forkjoin.Pool) (int, error) { return i, nil })
				if i%2 == 0 {
					_, _ = f.Get()
				} else {
					f.Drop()
				}
			}
			<-forkjoin.Submit(p, func(*forkjoin.Pool) (int, error) { return 1, nil }).Done()
		}()
		for told.Load() == 0 {
			runtime.GC()
			runtime.Gosched()
		}
		assert.ErrorIs(t, p.Close(), forkjoin.ErrLive)
		for range 3 {
			runtime.GC()
			runtime.Gosched()
		}
		assert.EqualValues(t, 1, told.Load())
	})
}
