package tests

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/sched"
)

// Tasks run on the workers' threads only, and each goes on after every wait on the
// thread that it began on.
func TestFibersKeepTheirThread(t *testing.T) {
	eachConfig(t, anyWorkers, func(t *testing.T, cfg sched.Config) {
		var workers journal[int]
		cfg.Initializer = func(int) { workers.add(tid()) }
		onScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			threads := workers.all()
			if cfg.Workers == 0 {
				threads = []int{tid()}
			}
			n := scaled(200, 50)
			over := newLatch(n)
			for i := range n {
				schedule(t, s, func() {
					defer over.done()
					f, thread := sched.Current(), tid()
					assert.Contains(t, threads, thread)
					for round := range 4 {
						switch (i + round) % 3 {
						case 0:
							sched.Yield()
						case 1:
							sched.Sleep(time.Duration(i) * time.Microsecond)
						case 2:
							p := newSleeper()
							schedule(t, s, p.wake)
							p.task()
						}
						assert.Equal(t, thread, tid())
						assert.Same(t, f, sched.Current())
						assert.Same(t, s, sched.Get())
					}
				})
			}
			over.wait()
		})
	})
}

// A bound goroutine runs no task of a scheduler that has workers, but its own.
func TestBoundGoroutineRunsItsOwnOnly(t *testing.T) {
	eachScheduler(t, someWorkers, func(t *testing.T, s *sched.Scheduler) {
		require.NoError(t, s.Bind())
		thread := tid()
		const tasks = 100
		over := newLatch(2 * tasks)
		for range tasks {
			schedule(t, s, func() {
				assert.NotEqual(t, thread, tid())
				over.done()
			})
			scheduleHere(t, s, func() {
				assert.Equal(t, thread, tid())
				over.done()
			})
		}
		over.wait()
		require.NoError(t, sched.Unbind())
	})
}

// SameThread keeps a task on its worker, through generations.
func TestSameThread(t *testing.T) {
	eachScheduler(t, anyWorkers, func(t *testing.T, s *sched.Scheduler) {
		const families, generations = 20, 10
		over := newLatch(families)
		for range families {
			schedule(t, s, func() {
				thread, worker := tid(), sched.Current().Worker()
				var next func(left int)
				next = func(left int) {
					assert.Equal(t, thread, tid())
					assert.Same(t, worker, sched.Current().Worker())
					if left == 0 {
						over.done()
						return
					}
					scheduleHere(t, s, func() { next(left - 1) })
				}
				next(generations)
			})
		}
		over.wait()
	})
}
