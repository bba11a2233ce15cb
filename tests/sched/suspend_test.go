package sched_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"fiberlab/sched"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

// A task that waits keeps its fiber; the worker goes on with a new one, and later
// with the idle one.
func TestSuspend(t *testing.T) {
	suite.EachScheduler(t, suite.OneThread, func(t *testing.T, s *sched.Scheduler) {
		var order []string
		over := schedtest.NewLatch(1)
		schedtest.Schedule(t, s, func() {
			defer over.Done()
			a := sched.Current()
			for range 5 {
				var runner *sched.Fiber
				order = append(order, "wait")
				schedtest.ScheduleHere(t, s, func() {
					runner = sched.Current()
					assert.NotSame(t, a, runner)
					assert.Equal(t, sched.Yielded, a.State())
					order = append(order, "task")
					a.Notify()
					assert.Equal(t, sched.Queued, a.State())
				})
				a.Wait(nil, nil)
				order = append(order, "resume")
				assert.Same(t, a, sched.Current())
				assert.Equal(t, sched.Running, a.State())
				assert.Equal(t, sched.Idle, runner.State())
			}
		})
		over.Wait()
		assert.Len(t, order, 15)
		for i, what := range order {
			assert.Equal(t, []string{"wait", "task", "resume"}[i%3], what)
		}
		assert.LessOrEqual(t, s.Stats().Made, uint64(3), "idle fibers are used again, and one is held")
	})
}

// Many tasks block on few workers, each on a separate fiber.
func TestSuspendMany(t *testing.T) {
	suite.EachScheduler(t, suite.AnyWorkers, func(t *testing.T, s *sched.Scheduler) {
		n := suite.Scaled(300, 60)
		sleepers := make([]*schedtest.Sleeper, n)
		fibers := make([]*sched.Fiber, n)
		for i := range sleepers {
			sleepers[i] = schedtest.NewSleeper()
			schedtest.Schedule(t, s, sleepers[i].Task)
		}
		for i, p := range sleepers {
			fibers[i] = p.Blocked()
		}
		assert.Equal(t, n, schedtest.Distinct(fibers))
		assert.GreaterOrEqual(t, s.Stats().Blocked, n)
		for _, f := range fibers {
			assert.Equal(t, sched.Yielded, f.State())
		}
		for _, p := range sleepers {
			p.Wake()
		}
		for _, p := range sleepers {
			p.Over.Wait()
		}
	})
}

// A worker keeps no more idle fibers than it is told to, besides the main one.
func TestMaxIdle(t *testing.T) {
	suite.EachConfig(t, []int{0, 1, 4}, func(t *testing.T, cfg sched.Config) {
		cfg.MaxIdle = 3
		suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			for range 3 {
				l := schedtest.NewLatch(40)
				for range 40 {
					schedtest.Schedule(t, s, func() {
						sched.Sleep(time.Millisecond)
						l.Done()
					})
				}
				l.Wait()
				assert.LessOrEqual(t, s.Stats().Idle, (cfg.MaxIdle+1)*max(cfg.Workers, 1))
			}
		})
	})
}
