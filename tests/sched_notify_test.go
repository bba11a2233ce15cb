package tests

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"fiberlab/sched"
)

// Who notifies may be a fiber of the same worker.
func TestFlowNotifyFromFiber(t *testing.T) {
	eachScheduler(t, anyWorkers, func(t *testing.T, s *sched.Scheduler) {
		over := newLatch(1)
		schedule(t, s, func() {
			p := newSleeper()
			scheduleHere(t, s, p.task)
			f := p.blocked()
			assert.Same(t, sched.Current().Worker(), f.Worker())
			p.wake()
			p.over.wait()
			over.done()
		})
		over.wait()
	})
}

// Who notifies may run on another worker.
func TestFlowNotifyFromAnotherWorker(t *testing.T) {
	eachScheduler(t, severalWorkers, func(t *testing.T, s *sched.Scheduler) {
		// Each worker has a sleeper, and wakes the next one's.
		n := s.Stats().Fibers
		sleepers := make([]*sleeper, n)
		fibers := make([]*sched.Fiber, n)
		for i := range sleepers {
			sleepers[i] = newSleeper()
		}
		holdWorkers(t, s, n, func(i int) { scheduleHere(t, s, sleepers[i].task) })
		for i, p := range sleepers {
			fibers[i] = p.blocked()
		}
		holdWorkers(t, s, n, func(i int) {
			for _, p := range sleepers {
				if f := p.blocked(); f.Worker() != sched.Current().Worker() {
					p.wake()
				}
			}
		})
		for _, p := range sleepers {
			p.over.wait()
		}
	})
}

// Who notifies may be a plain goroutine, or a goroutine bound to another scheduler.
func TestFlowNotifyFromGoroutine(t *testing.T) {
	eachScheduler(t, anyWorkers, func(t *testing.T, s *sched.Scheduler) {
		var over sync.WaitGroup
		for _, bind := range []bool{false, true} {
			p := newSleeper()
			schedule(t, s, p.task)
			over.Add(1)
			go func() {
				defer over.Done()
				if bind {
					onScheduler(t, sched.Config{}, func(t *testing.T, _ *sched.Scheduler) { p.wake() })
					return
				}
				p.wake()
			}()
			p.over.wait()
		}
		over.Wait()
	})
}

// Many notifications of one blocked fiber wake it once; those of a fiber that runs
// or is idle do nothing, and none is remembered.
func TestFlowNotifyTooOften(t *testing.T) {
	eachScheduler(t, oneThread, func(t *testing.T, s *sched.Scheduler) {
		over := newLatch(1)
		schedule(t, s, func() {
			defer over.done()
			a := sched.Current()
			a.Notify()
			assert.Equal(t, sched.Running, a.State())
			assert.False(t, a.WaitFor(nil, 1, nil), "a notification was remembered")

			var b *sched.Fiber
			resumed := 0
			scheduleHere(t, s, func() {
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
		over.wait()
	})
}
