package sched_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

// hold has a task keep the only worker of s until release is called.
func hold(t *testing.T, s *sched.Scheduler) (release func()) {
	t.Helper()
	return holdBy(t, s.Go)
}

// holdBy is hold of the worker on which enqueue has its task begun.
func holdBy(t *testing.T, enqueue func(f func()) error) (release func()) {
	t.Helper()
	begun, end := make(chan struct{}), make(chan struct{})
	require.NoError(t, enqueue(func() { close(begun); <-end }))
	<-begun
	return func() { close(end) }
}

// enqueuing waits until n callers wait for room.
func enqueuing(t *testing.T, s *sched.Scheduler, n int) {
	t.Helper()
	for end := time.Now().Add(schedtest.Standstill); s.Stats().Enqueuing != n; runtime.Gosched() {
		require.True(t, time.Now().Before(end), "%d callers wait for room, not %d", s.Stats().Enqueuing, n)
	}
}

// MaxQueued counts what has not begun, wherever it may begin. Who wants more waits, or gets ErrFull.
func TestMaxQueued(t *testing.T) {
	suite.EachConfig(t, []int{1}, func(t *testing.T, cfg sched.Config) {
		cfg.MaxQueued = 3
		suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			release := hold(t, s)
			var ran atomic.Int64
			count := sched.Task{Func: func() { ran.Add(1) }}
			assert.NoError(t, s.EnqueueOn(0, count))
			assert.NoError(t, s.TryEnqueue(count))
			assert.NoError(t, s.Enqueue(count))
			assert.ErrorIs(t, s.TryEnqueue(count), sched.ErrFull)
			assert.ErrorIs(t, s.TryEnqueueOn(0, count), sched.ErrFull)
			assert.ErrorIs(t, s.TryEnqueueInGroup(0, count), sched.ErrFull)
			waited := make(chan error, 2)
			go func() { waited <- s.Enqueue(count) }()
			go func() { waited <- s.EnqueueOn(0, count) }()
			enqueuing(t, s, 2)
			assert.ErrorIs(t, s.TryEnqueue(count), sched.ErrFull)
			assert.Empty(t, waited)
			release()
			assert.NoError(t, <-waited)
			assert.NoError(t, <-waited)
			schedtest.Perform(t, s, func() {})
			for end := time.Now().Add(schedtest.Standstill); ran.Load() != 5; runtime.Gosched() {
				require.True(t, time.Now().Before(end), "%d tasks have run", ran.Load())
			}
			for range cfg.MaxQueued + 1 { // what was refused has no place
				schedtest.Perform(t, s, func() {
					assert.ErrorIs(t, s.EnqueueOn(9, count), sched.ErrNoSuchWorker)
					assert.ErrorIs(t, s.TryEnqueue(sched.Task{}), sched.ErrNilTask)
				})
				assert.ErrorIs(t, s.TryEnqueue(sched.Task{Func: func() {}, Flags: sched.SameThread}), sched.ErrNotBound)
			}
			assert.Zero(t, s.Stats().Enqueuing)
		})
	})
}

// Each place that becomes free goes to the caller that waits for one, however many places there are. This holds
// although the task that has begun occupies the worker.
func TestSinglePlacesAreHandedOn(t *testing.T) {
	suite.EachConfig(t, []int{1}, func(t *testing.T, cfg sched.Config) {
		cfg.MaxQueued = 1024
		suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			next := make(chan struct{})
			defer close(next)
			held := sched.Task{Func: func() { <-next }}
			eventually := func(enqueue func(sched.Task) error, what string) {
				for end := time.Now().Add(schedtest.Standstill); enqueue(held) != nil; runtime.Gosched() {
					require.True(t, time.Now().Before(end), what)
				}
			}
			for range cfg.MaxQueued + 1 {
				eventually(s.TryEnqueue, "no room in an empty scheduler")
			}
			require.ErrorIs(t, s.TryEnqueue(held), sched.ErrFull)
			for range 3 {
				next <- struct{}{} // one task ends, and one begins
				eventually(s.TryEnqueue, "no room, although a task has begun")
			}
			for range 3 {
				waited := make(chan error, 1)
				go func() { waited <- s.Enqueue(held) }()
				enqueuing(t, s, 1)
				next <- struct{}{}
				select {
				case err := <-waited:
					require.NoError(t, err)
				case <-time.After(schedtest.Standstill):
					require.Fail(t, "a caller waits, although a task has begun")
				}
			}
		})
	})
}

// A task that enqueues more than there is room for waits as a fiber does: its own worker makes room.
func TestTaskWaitsForRoom(t *testing.T) {
	suite.EachConfig(t, suite.AnyWorkers, func(t *testing.T, cfg sched.Config) {
		cfg.MaxQueued = 2
		suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			const parents, children = 5, 40
			over := schedtest.NewLatch(parents * children)
			for p := range parents {
				schedtest.Schedule(t, s, func() {
					for c := range children {
						task := sched.Task{Func: over.Done}
						if (p+c)%3 == 0 {
							task.Flags = sched.SameThread
						}
						assert.NoError(t, s.Enqueue(task))
					}
				})
			}
			over.Wait()
		})
	})
}

// So does a fiber of another scheduler, and a blocking call of a task.
func TestOthersWaitForRoom(t *testing.T) {
	suite.EachConfig(t, suite.SomeWorkers, func(t *testing.T, cfg sched.Config) {
		suite.OnScheduler(t, cfg, func(t *testing.T, other *sched.Scheduler) {
			cfg.MaxQueued = 1
			suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
				const each = 50
				over := schedtest.NewLatch(3 * each)
				enqueue := func() {
					for range each {
						assert.NoError(t, s.Enqueue(sched.Task{Func: over.Done}))
					}
				}
				schedtest.Schedule(t, other, enqueue)
				schedtest.Schedule(t, s, func() { fibersync.BlockingCall(enqueue) })
				enqueue()
				over.Wait()
			})
		})
	})
}

// A wait for room ends with its context, and takes no room.
func TestEnqueueContext(t *testing.T) {
	suite.EachConfig(t, []int{1}, func(t *testing.T, cfg sched.Config) {
		cfg.MaxQueued = 1
		suite.OnScheduler(t, cfg, testEnqueueContext)
	})
}

func testEnqueueContext(t *testing.T, s *sched.Scheduler) {
	nothing := sched.Task{Func: func() {}}
	cause := errors.New("the audience has left")
	ctx, cancel := context.WithCancelCause(t.Context())
	past, end := context.WithTimeout(t.Context(), time.Nanosecond)
	defer end()
	var absent context.Context
	require.ErrorIs(t, s.EnqueueContext(absent, nothing), sched.ErrNilContext)
	release := hold(t, s)
	assert.NoError(t, s.EnqueueContext(ctx, nothing))
	assert.ErrorIs(t, s.EnqueueContext(past, nothing), context.DeadlineExceeded)
	result := make(chan error, 1)
	go func() { result <- s.EnqueueContext(ctx, nothing) }()
	enqueuing(t, s, 1)
	cancel(cause)
	assert.Same(t, cause, errors.Unwrap(<-result))
	assert.ErrorIs(t, s.EnqueueContext(ctx, nothing), cause)
	enqueuing(t, s, 0)
	release()
	schedtest.Perform(t, s, func() {
		assert.NoError(t, s.EnqueueContext(ctx, nothing), "there is room")
		assert.ErrorIs(t, s.EnqueueContext(ctx, nothing), cause, "in a task")
	})
}

// An Unlock that is called while its fiber is about to wait gets an error if there is no room, and no place later.
func TestNoWaitForRoomInUnlock(t *testing.T) {
	suite.EachConfig(t, []int{1}, func(t *testing.T, cfg sched.Config) {
		cfg.MaxQueued = 1
		suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			schedtest.Perform(t, s, func() {
				assert.NoError(t, s.Go(func() {}))
				me := sched.Current()
				lock := lockThat(func() {
					assert.ErrorIs(t, s.Go(func() { assert.Fail(t, "a task that was refused runs") }), sched.ErrInWait)
					me.Notify()
				})
				if assert.NotPanics(t, func() { me.Wait(lock, nil) }) {
					lock.Mutex.Unlock()
				}
				assert.Zero(t, s.Stats().Enqueuing)
			})
		})
	})
}

// Close refuses those from outside that wait for room, and lets tasks wait on.
func TestCloseEndsWaitsForRoom(t *testing.T) {
	suite.EachConfig(t, []int{1}, func(t *testing.T, cfg sched.Config) {
		cfg.MaxQueued = 1
		s, err := sched.New(cfg)
		require.NoError(t, err)
		release := hold(t, s)
		var inside error
		schedtest.Schedule(t, s, func() {
			inside = errors.Join(s.Enqueue(sched.Task{Func: func() {}}), s.Enqueue(sched.Task{Func: func() {}}))
		})
		const outside = 5
		refused := make(chan error, outside)
		for range outside {
			go func() { refused <- s.Enqueue(sched.Task{Func: func() { t.Error("a task that was refused runs") }}) }()
		}
		enqueuing(t, s, outside)
		closed := make(chan error, 1)
		go func() { closed <- s.Close() }()
		for range outside {
			assert.ErrorIs(t, <-refused, sched.ErrClosed)
		}
		assert.Empty(t, closed)
		release()
		require.NoError(t, <-closed)
		assert.NoError(t, inside)
		assert.ErrorIs(t, s.Enqueue(sched.Task{Func: func() {}}), sched.ErrClosed)
	})
}

// A Close that reports a deadlock leaves the room as it was.
func TestRoomAfterDeadlock(t *testing.T) {
	suite.EachConfig(t, []int{1}, func(t *testing.T, cfg sched.Config) {
		cfg.MaxQueued, cfg.GiveUpAfter = 1, shortLimit
		s, err := sched.New(cfg)
		require.NoError(t, err)
		p := schedtest.NewSleeper()
		schedtest.Schedule(t, s, p.Task)
		p.Blocked()
		require.ErrorIs(t, s.Close(), sched.ErrDeadlock)
		for range 3 {
			schedtest.Perform(t, s, func() {})
		}
		p.Wake()
		require.NoError(t, s.Close())
	})
}

// A fiber that waits for room for good is reported with what it waits for. Its task is in another scheduler than
// the full one, whose only worker is held by nothing that the first could see.
func TestReportNamesRoom(t *testing.T) {
	suite.EachConfig(t, []int{1}, func(t *testing.T, cfg sched.Config) {
		full := cfg
		full.MaxQueued = 1
		suite.OnScheduler(t, full, func(t *testing.T, s *sched.Scheduler) {
			release := hold(t, s)
			schedtest.Schedule(t, s, func() {})
			cfg.GiveUpAfter = shortLimit
			other, err := sched.New(cfg)
			require.NoError(t, err)
			schedtest.Schedule(t, other, func() { schedtest.Schedule(t, s, func() {}) })
			var d *sched.Deadlock
			if assert.ErrorAs(t, other.Close(), &d) && assert.Len(t, d.Fibers, 1) {
				assert.Equal(t, "sched.(*Scheduler).Enqueue", d.Fibers[0].Call)
				assert.Equal(t, "room for a task: 1 wait to begin (Config.MaxQueued)", d.Fibers[0].For)
			}
			release()
			err = other.Close()
			for errors.Is(err, sched.ErrDeadlock) { // the task is not woken before there is room
				err = other.Close()
			}
			require.NoError(t, err)
		})
	})
}

// Many enqueue and give up at the same time: each task runs once, and no place is lost.
func TestRoomUnderStress(t *testing.T) {
	suite.EachConfig(t, suite.SeveralWorkers, func(t *testing.T, cfg sched.Config) {
		rng := suite.NewRand(t)
		cfg.MaxQueued = 1 + rng.IntN(4)
		suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			var enqueued, ran atomic.Int64
			var all sync.WaitGroup
			task := sched.Task{Func: func() { ran.Add(1) }}
			work := func(seed uint64) {
				for i := range uint64(suite.Scaled(400, 60)) {
					ctx, cancel := context.WithCancelCause(context.Background())
					if (seed+i)%3 == 0 {
						go cancel(errors.New("too late"))
					}
					switch err := s.EnqueueContext(ctx, task); {
					case err == nil:
						enqueued.Add(1)
					case ctx.Err() == nil:
						t.Error(err)
					}
					if (seed+i)%4 == 0 && s.TryEnqueue(task) == nil {
						enqueued.Add(1)
					}
					cancel(nil)
				}
				all.Done()
			}
			for i := range 4 {
				all.Add(2)
				go work(rng.Uint64N(100))
				schedtest.Schedule(t, s, func() { work(uint64(i)) })
			}
			all.Wait()
			for end := time.Now().Add(schedtest.Standstill); ran.Load() != enqueued.Load(); runtime.Gosched() {
				require.True(t, time.Now().Before(end), "%d of %d tasks have run", ran.Load(), enqueued.Load())
			}
			schedtest.HoldWorkers(t, s, cfg.Workers, func(int) {})
			assert.Zero(t, s.Stats().Enqueuing)
		})
	})
}
