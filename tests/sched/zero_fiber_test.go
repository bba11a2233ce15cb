package sched_test

import (
	"reflect"
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
			check.CallEachMethod(t, (*sched.Fiber)(nil))
		}
		all()
		schedtest.Perform(t, s, all)
		zero := new(sched.Fiber)
		assert.Equal(t, sched.Idle, zero.State())
		assert.Nil(t, zero.Worker())
		assert.Equal(t, "no fiber", zero.String())
		check.PanicsWith(t, sched.ErrNotMade, zero.Notify)
		check.PanicsWith(t, sched.ErrNotMade, func() { zero.Wait(nil, nil) })
	})
}

// What primitives wait by is reached by park.Current alone.
func TestFiberIsNoParker(t *testing.T) {
	var methods []string
	for fiber, i := reflect.TypeFor[*sched.Fiber](), 0; i < fiber.NumMethod(); i++ {
		methods = append(methods, fiber.Method(i).Name)
	}
	assert.Equal(
		t, []string{"ID", "Notify", "OnBlock", "State", "String", "Wait", "WaitFor", "WaitUntil", "Worker"}, methods,
	)
}
