package sched_test

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"fiberlab/sched"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

// The notifier may be a fiber of the same worker.
func TestNotifyFromFiber(t *testing.T) {
	suite.EachScheduler(t, suite.AnyWorkers, func(t *testing.T, s *sched.Scheduler) {
		over := schedtest.NewLatch(1)
		schedtest.Schedule(t, s, func() {
			p, here := schedtest.NewSleeper(), sched.Current().Worker()
			schedtest.ScheduleHere(t, s, p.Task)
			f := p.Blocked() // the caller waits, and may migrate
			assert.Same(t, here, f.Worker())
			p.Wake()
			p.Over.Wait()
			over.Done()
		})
		over.Wait()
	})
}

// The notifier may run on another worker.
func TestNotifyFromAnotherWorker(t *testing.T) {
	suite.EachScheduler(t, suite.SeveralWorkers, func(t *testing.T, s *sched.Scheduler) {
		// Each worker has a sleeper, and wakes those of all other workers.
		n := s.Stats().Fibers
		sleepers := make([]*schedtest.Sleeper, n)
		fibers := make([]*sched.Fiber, n)
		for i := range sleepers {
			sleepers[i] = schedtest.NewSleeper()
		}
		schedtest.HoldWorkers(t, s, n, func(i int) { schedtest.ScheduleHere(t, s, sleepers[i].Task) })
		for i, p := range sleepers {
			fibers[i] = p.Blocked()
		}
		schedtest.HoldWorkers(t, s, n, func(i int) {
			for _, p := range sleepers {
				if f := p.Blocked(); f.Worker() != sched.Current().Worker() {
					p.Wake()
				}
			}
		})
		for _, p := range sleepers {
			p.Over.Wait()
		}
	})
}

// The notifier may be a plain goroutine, or a goroutine bound to another scheduler.
func TestNotifyFromGoroutine(t *testing.T) {
	suite.EachScheduler(t, suite.AnyWorkers, func(t *testing.T, s *sched.Scheduler) {
		var over sync.WaitGroup
		for _, bind := range []bool{false, true} {
			p := schedtest.NewSleeper()
			schedtest.Schedule(t, s, p.Task)
			over.Add(1)
			go func() {
				defer over.Done()
				if bind {
					suite.OnScheduler(t, sched.Config{}, func(t *testing.T, _ *sched.Scheduler) { p.Wake() })
					return
				}
				p.Wake()
			}()
			p.Over.Wait()
		}
		over.Wait()
	})
}

// Many notifications of one blocked fiber wake it once. A notification of a running or idle fiber does nothing, and is
// not remembered.
func TestNotifyTooOften(t *testing.T) {
	suite.EachScheduler(t, suite.OneThread, func(t *testing.T, s *sched.Scheduler) {
		over := schedtest.NewLatch(1)
		schedtest.Schedule(t, s, func() {
			defer over.Done()
			a := sched.Current()
			a.Notify()
			assert.Equal(t, sched.Running, a.State())
			assert.False(t, a.WaitFor(nil, 1, nil), "a notification was remembered")

			var b *sched.Fiber
			resumed := 0
			schedtest.ScheduleHere(t, s, func() {
				b = sched.Current()
				for resumed < 3 {
					b.Wait(nil, nil)
					resumed++
					a.Notify()
				}
			})
			sched.Yield()
			for i := range 3 {
				assert.Equal(t, sched.Yielded, b.State())
				for range 5 {
					b.Notify()
					assert.Equal(t, sched.Queued, b.State())
				}
				assert.Equal(t, i, resumed)
				a.Wait(nil, nil)
				assert.Equal(t, i+1, resumed)
			}
			sched.Yield()
			assert.Equal(t, sched.Idle, b.State())
			b.Notify()
			assert.Equal(t, sched.Idle, b.State())
		})
		over.Wait()
	})
}

// A fiber that a worker has notified, and which may migrate, goes on elsewhere while the notifier computes.
func TestNotifiedFiberGoesOnBesideItsNotifier(t *testing.T) {
	suite.Over{Workers: []int{2}}.Run(t, func(t *testing.T, cfg sched.Config) {
		if cfg.Policy == sched.Stealing {
			return // fibers stay with their worker
		}
		suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			p := schedtest.NewSleeper()
			over := schedtest.NewLatch(1)
			schedtest.Schedule(t, s, func() {
				schedtest.Schedule(t, s, func() { p.Task(); over.Done() })
				p.Blocked()
				p.Wake()
				for end := time.Now().Add(schedtest.Standstill); !over.IsOpen() && time.Now().Before(end); {
					runtime.Gosched()
				}
				assert.True(t, over.IsOpen(), "the fiber waits for its notifier")
			})
			over.Wait()
		})
	})
}
