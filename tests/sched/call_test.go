package sched_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"

	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

// A blocking call counts as inside of its task: a scheduler that it closed would wait for it.
func TestBlockingCallMayNotClose(t *testing.T) {
	suite.EachScheduler(t, suite.AnyWorkers, func(t *testing.T, s *sched.Scheduler) {
		over, cancel := context.WithCancel(context.Background())
		cancel()
		want := sched.ErrInTask
		if s.Workers() == 0 {
			want = sched.ErrBound
		}
		schedtest.Perform(t, s, func() {
			fibersync.BlockingCall(func() {
				if assert.ErrorIs(t, s.CloseContext(over), want, "CloseContext") {
					assert.ErrorIs(t, s.Close(), want, "Close")
				}
			})
		})
	})
}

// What a blocking call closes, binds and unbinds besides its own scheduler does not wait for it.
func TestBlockingCallMayBind(t *testing.T) {
	suite.EachScheduler(t, suite.SomeWorkers, func(t *testing.T, s *sched.Scheduler) {
		schedtest.Perform(t, s, func() {
			fibersync.BlockingCall(func() {
				assert.ErrorIs(t, sched.Unbind(), sched.ErrNotBound)
				assert.NoError(t, s.Bind())
				assert.NoError(t, sched.Unbind())
				assert.NoError(t, sched.Run(sched.Config{Workers: 1}, func() {}))
			})
		})
	})
}

// Schedule in a blocking call queues a task on the scheduler of its task, as Enqueue does.
func TestBlockingCallSchedules(t *testing.T) {
	suite.EachScheduler(t, suite.AnyWorkers, func(t *testing.T, s *sched.Scheduler) {
		ran := make(chan *sched.Scheduler, 1)
		schedtest.Perform(t, s, func() {
			fibersync.BlockingCall(func() {
				assert.ErrorIs(t, sched.Schedule(nil), sched.ErrNilTask)
				assert.ErrorIs(t, sched.Schedule(func() {}, sched.SameThread), sched.ErrNotBound)
				assert.NoError(t, sched.Schedule(func() { ran <- sched.Get() }))
			})
			if s.Workers() == 0 {
				sched.Yield()
			}
		})
		if !t.Failed() {
			assert.Same(t, s, <-ran)
		}
	})
}
