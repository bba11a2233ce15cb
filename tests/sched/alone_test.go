package sched_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/sched"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

// A task is alone until there is another one for its worker, and when that has ended. So Yield need not be called
// before.
func TestAlone(t *testing.T) {
	suite.EachScheduler(t, suite.OneThread, func(t *testing.T, s *sched.Scheduler) {
		schedtest.Perform(t, s, func() {
			assert.True(t, sched.Alone(), "no other task")
			ran := false
			schedtest.ScheduleHere(t, s, func() { ran = true })
			assert.False(t, sched.Alone(), "another task waits")
			for !sched.Alone() {
				sched.Yield()
			}
			assert.True(t, ran)
		})
	})
}

func TestAloneNeedsAFiber(t *testing.T) {
	defer func() {
		err, _ := recover().(error)
		require.ErrorIs(t, err, sched.ErrNoFiber)
	}()
	sched.Alone()
}
