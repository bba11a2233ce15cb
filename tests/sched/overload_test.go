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

// A caller that waits for room longer than Config.OverloadAfter gets an error that names the cause. Its task never
// runs. This holds for goroutines, fibers of other schedulers, and blocking calls.
func TestOverloadError(t *testing.T) {
	suite.EachConfig(t, []int{1}, func(t *testing.T, cfg sched.Config) {
		suite.OnScheduler(t, cfg, func(t *testing.T, other *sched.Scheduler) {
			cfg.Name, cfg.MaxQueued, cfg.OverloadAfter = "crowd", 1, time.Millisecond
			suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
				release := hold(t, s)
				ran := schedtest.NewLatch(1)
				schedtest.Schedule(t, s, ran.Done)
				refused := func() { t.Error("a task that was refused runs") }
				check := func() {
					for what, err := range map[string]error{
						"Enqueue":        s.Enqueue(sched.Task{Func: refused}),
						"EnqueueContext": s.EnqueueContext(t.Context(), sched.Task{Func: refused}),
						"EnqueueOn":      s.EnqueueOn(0, sched.Task{Func: refused}),
					} {
						assert.ErrorIs(t, err, sched.ErrOverload, what)
						assert.ErrorContains(t, err, "crowd", what)
						assert.ErrorContains(t, err, "1 still wait to begin (Config.MaxQueued)", what)
						assert.ErrorContains(t, err, "more workers", what)
					}
					_, err := fibersync.AsyncOn(s, func() (int, error) { refused(); return 0, nil }).Get()
					assert.ErrorIs(t, err, sched.ErrOverload)
					assert.ErrorIs(t, s.TryEnqueue(sched.Task{Func: refused}), sched.ErrFull)
					cause := errors.New("the audience has left")
					ctx, cancel := context.WithCancelCause(t.Context())
					cancel(cause)
					assert.ErrorIs(t, s.EnqueueContext(ctx, sched.Task{Func: refused}), cause)
				}
				check()
				schedtest.Perform(t, other, check)
				schedtest.Perform(t, other, func() { fibersync.BlockingCall(check) })
				release()
				ran.Wait()
				schedtest.Perform(t, s, func() {}) // no place has been lost
				schedtest.Perform(t, s, func() {})
			})
		})
	})
}

// A fiber that waits for room leaves its worker to others: here one of them has to make the room.
func TestWorkerGoesOnWhileAFiberWaitsForRoom(t *testing.T) {
	suite.EachConfig(t, suite.SeveralWorkers, func(t *testing.T, cfg sched.Config) {
		cfg.MaxQueued, cfg.OverloadAfter = 1, time.Hour
		suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			held, end := make(chan int), make(chan struct{})
			schedtest.Schedule(t, s, func() { held <- sched.Current().Worker().ID(); <-end })
			busy := <-held
			var first, second atomic.Bool
			over := schedtest.NewLatch(2)
			schedtest.Schedule(t, s, func() {
				defer over.Done()
				ready := schedtest.NewLatch(1)
				schedtest.ScheduleHere(t, s, func() {
					defer over.Done()
					ready.Done()
					for s.Stats().Enqueuing == 0 {
						sched.Yield()
					}
					close(end)
				})
				ready.Wait()
				assert.NoError(t, s.EnqueueOn(busy, sched.Task{Func: func() { first.Store(true) }}))
				assert.NoError(t, s.EnqueueOn(busy, sched.Task{Func: func() { second.Store(true) }}))
			})
			over.Wait()
			for stop := time.Now().Add(schedtest.Standstill); !first.Load() || !second.Load(); runtime.Gosched() {
				require.True(t, time.Now().Before(stop), "tasks that were accepted have not run")
			}
		})
	})
}

// A task that waits for room in its own scheduler gets the error too, when all other workers are held.
func TestOverloadErrorInATask(t *testing.T) {
	suite.EachConfig(t, []int{2}, func(t *testing.T, cfg sched.Config) {
		cfg.MaxQueued, cfg.OverloadAfter = 1, time.Millisecond
		suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			held, end := make(chan int), make(chan struct{})
			schedtest.Schedule(t, s, func() { held <- sched.Current().Worker().ID(); <-end })
			busy := <-held
			ran := schedtest.NewLatch(1)
			schedtest.Perform(t, s, func() {
				assert.NoError(t, s.EnqueueOn(busy, sched.Task{Func: ran.Done}))
				refused := sched.Task{Func: func() { t.Error("a task that was refused runs") }}
				assert.ErrorIs(t, s.Enqueue(refused), sched.ErrOverload)
				refused.Flags = sched.SameThread
				assert.ErrorIs(t, s.Enqueue(refused), sched.ErrOverload)
				close(end)
			})
			ran.Wait()
		})
	})
}

// Many callers enqueue tasks on a scheduler that is overloaded at times. Each accepted task runs once, and no refused
// task runs.
func TestOverloadLosesNothing(t *testing.T) {
	suite.EachConfig(t, suite.SomeWorkers, func(t *testing.T, cfg sched.Config) {
		rng := suite.NewRand(t)
		cfg.MaxQueued, cfg.OverloadAfter = 1+rng.IntN(4), time.Duration(1+rng.IntN(50))*time.Microsecond
		suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			const callers = 8
			each := suite.Scaled(300, 50)
			ran := make([]atomic.Int32, callers*each)
			accepted := make([]bool, callers*each)
			var left atomic.Int64
			var all sync.WaitGroup
			work := func(from int) {
				defer all.Done()
				for i := from; i < from+each; i++ {
					left.Add(1)
					err := s.Enqueue(sched.Task{Func: func() {
						ran[i].Add(1)
						if i%7 == 0 {
							time.Sleep(100 * time.Microsecond)
						}
						left.Add(-1)
					}})
					if accepted[i] = err == nil; err != nil {
						left.Add(-1)
						assert.ErrorIs(t, err, sched.ErrOverload)
					}
				}
			}
			for c := range callers {
				all.Add(1)
				if c%2 == 0 {
					go work(c * each)
					continue
				}
				for s.Enqueue(sched.Task{Func: func() { work(c * each) }}) != nil {
					runtime.Gosched()
				}
			}
			all.Wait()
			for stop := time.Now().Add(schedtest.Standstill); left.Load() > 0; runtime.Gosched() {
				require.True(t, time.Now().Before(stop), "%d tasks that were accepted have not run", left.Load())
			}
			refused := 0
			for i := range ran {
				want := int32(1)
				if !accepted[i] {
					want, refused = 0, refused+1
				}
				require.Equal(t, want, ran[i].Load(), "runs of task %d, accepted: %v", i, accepted[i])
			}
			t.Logf("%d of %d refused", refused, len(ran))
			assert.Zero(t, s.Stats().Enqueuing)
		})
	})
}
