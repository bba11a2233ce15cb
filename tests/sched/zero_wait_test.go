package sched_test

import (
	"sync/atomic"
	"testing"

	"fiberlab/sched"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

// A fiber that waits again and again until a moment that has passed lets others go on in between: tasks that have not
// begun, and fibers that are ready.
func TestWaitsThatEndAtOnceKeepNothingOut(t *testing.T) {
	suite.EachScheduler(t, suite.OneThread, func(t *testing.T, s *sched.Scheduler) {
		for _, wait := range []func(f *sched.Fiber){
			func(f *sched.Fiber) { f.WaitFor(nil, 0, nil) },
			func(f *sched.Fiber) { f.WaitFor(noLock{}, 0, nil) },
		} {
			var task, fiber atomic.Bool
			const limit = 1_000_000 // turns; then it is held to be for ever
			over := schedtest.NewLatch(2)
			p := schedtest.NewSleeper()
			schedtest.Schedule(t, s, func() {
				p.Task()
				fiber.Store(true)
			})
			schedtest.Schedule(t, s, func() {
				defer over.Done()
				p.Blocked()
				schedtest.Schedule(t, s, func() {
					defer over.Done()
					task.Store(true)
				})
				p.Wake()
				f := sched.Current()
				turns := 0
				for ; turns < limit && !(task.Load() && fiber.Load()); turns++ {
					wait(f)
				}
				if turns == limit {
					t.Errorf("after %d waits: task begun %v, fiber resumed %v", turns, task.Load(), fiber.Load())
				}
			})
			over.Wait()
			p.Over.Wait()
		}
	})
}
