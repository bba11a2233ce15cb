package sched_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"fiberlab/sched"
	"fiberlab/tests/internal/check"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

func TestZeroFiberOfAScheduler(t *testing.T) {
	suite.EachScheduler(t, suite.OneThread, func(t *testing.T, s *sched.Scheduler) {
		all := func() {
			check.CallEachMethod(t, new(sched.Fiber))
			check.CallEachMethod(t, (*sched.Fiber)(nil), "LocalSlot", "WaiterSlot") // which are addresses in it
		}
		all()
		schedtest.Perform(t, s, all)
		zero := new(sched.Fiber)
		assert.Equal(t, sched.Idle, zero.State())
		assert.Nil(t, zero.Worker())
		assert.Equal(t, "no fiber", zero.String())
		check.PanicsWith(t, sched.ErrNotMade, zero.Notify)
		check.PanicsWith(t, sched.ErrNotMade, zero.Unpark)
		check.PanicsWith(t, sched.ErrNotMade, func() { zero.Wait(nil, nil) })
		assert.ErrorIs(t, zero.Start(func() {}), sched.ErrNotMade)
	})
}
