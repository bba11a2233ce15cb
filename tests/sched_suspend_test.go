package tests

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"fiberlab/sched"
)

// A task that waits keeps its fiber; the worker goes on with a new one, and later
// with the one that is idle.
func TestFlowSuspend(t *testing.T) {
	eachScheduler(t, oneThread, func(t *testing.T, s *sched.Scheduler) {
		var order []string
		over := newLatch(1)
		schedule(t, s, func() {
			defer over.done()
			a := sched.Current()
			for range 5 {
				var carrier *sched.Fiber
				order = append(order, "wait")
				scheduleHere(t, s, func() {
					carrier = sched.Current()
					assert.NotSame(t, a, carrier)
					assert.Equal(t, sched.Yielded, a.State())
					order = append(order, "task")
					a.Notify()
					assert.Equal(t, sched.Queued, a.State())
				})
				a.Wait(nil, nil)
				order = append(order, "resume")
				assert.Same(t, a, sched.Current())
				assert.Equal(t, sched.Running, a.State())
				assert.Equal(t, sched.Idle, carrier.State())
			}
		})
		over.wait()
		assert.Len(t, order, 15)
		for i, what := range order {
			assert.Equal(t, []string{"wait", "task", "resume"}[i%3], what)
		}
		assert.LessOrEqual(t, s.Stats().Made, uint64(2), "idle fibers are used again")
	})
}

// Many tasks block on few workers, each on a fiber of its own.
func TestFlowSuspendMany(t *testing.T) {
	eachScheduler(t, anyWorkers, func(t *testing.T, s *sched.Scheduler) {
		n := scaled(300, 60)
		sleepers := make([]*sleeper, n)
		fibers := make([]*sched.Fiber, n)
		for i := range sleepers {
			sleepers[i] = newSleeper()
			schedule(t, s, sleepers[i].task)
		}
		for i, p := range sleepers {
			fibers[i] = p.blocked()
		}
		assert.Equal(t, n, distinct(fibers))
		assert.GreaterOrEqual(t, s.Stats().Blocked, n)
		for _, f := range fibers {
			assert.Equal(t, sched.Yielded, f.State())
		}
		for _, p := range sleepers {
			p.wake()
		}
		for _, p := range sleepers {
			p.over.wait()
		}
	})
}

// A worker keeps no more idle fibers than it is told to, besides the main one.
func TestMaxIdle(t *testing.T) {
	eachConfig(t, []int{0, 1, 4}, func(t *testing.T, cfg sched.Config) {
		cfg.MaxIdle = 3
		onScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			for range 3 {
				l := newLatch(40)
				for range 40 {
					schedule(t, s, func() {
						sched.Sleep(time.Millisecond)
						l.done()
					})
				}
				l.wait()
				assert.LessOrEqual(t, s.Stats().Idle, (cfg.MaxIdle+1)*max(cfg.Workers, 1))
			}
		})
	})
}
