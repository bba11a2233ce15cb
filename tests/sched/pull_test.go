package sched_test

import (
	"iter"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

// A coroutine of iter.Pull runs on behalf of the task that asks it for values. When the coroutine waits, the task
// waits, on whichever fiber of the worker it runs.
func TestTasksWaitInPull(t *testing.T) {
	suite.Over{Only: suite.HasThreads}.Run(t, func(t *testing.T, cfg sched.Config) {
		suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			n := suite.Scaled(30, 8)
			const values = 4
			over := schedtest.NewLatch(n)
			var m fibersync.Mutex
			for range n {
				schedtest.Schedule(t, s, func() {
					defer over.Done()
					f := sched.Current()
					next, stop := iter.Pull(func(yield func(int) bool) {
						for i := range values {
							assert.Same(t, f, sched.Current())
							sched.Yield()
							m.Lock()
							sched.Yield() // so that others find it locked
							m.Unlock()
							sched.Sleep(50 * time.Microsecond)
							assert.Same(t, f, sched.Current())
							if !yield(i) {
								return
							}
						}
					})
					defer stop()
					for i := range values {
						sched.Yield()
						v, ok := next()
						assert.Equal(t, i, v)
						assert.True(t, ok)
					}
					_, ok := next()
					assert.False(t, ok)
				})
			}
			over.Wait()
		})
	})
}

// A goroutine that is bound to a scheduler waits as a fiber in what it pulls, too.
func TestBoundGoroutineWaitsInPull(t *testing.T) {
	suite.EachScheduler(t, []int{0}, func(t *testing.T, s *sched.Scheduler) {
		ran := 0
		next, stop := iter.Pull(func(yield func(int) bool) {
			schedtest.Schedule(t, s, func() { ran++ })
			sched.Yield()
			yield(ran)
		})
		defer stop()
		v, _ := next()
		assert.Equal(t, 1, v, "tasks that ran while the goroutine had yielded")
	})
}
