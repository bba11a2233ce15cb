package uring_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"fiberlab/fiber"
	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/sched/forkjoin"
	"fiberlab/sched/uring/dispatch"
)

// An error of one package is also the error of the package below it for the same fault. A caller that finds the one by
// errors.Is finds the other.
func TestErrorsAreOneSet(t *testing.T) {
	for _, one := range []struct {
		name           string
		value, general error
	}{
		{"sched.ErrNoFiber", sched.ErrNoFiber, fiber.ErrNoFiber},
		{"sched.ErrNotMade", sched.ErrNotMade, fiber.ErrNotMade},
		{"fibersync.ErrNilContext", fibersync.ErrNilContext, sched.ErrNilContext},
		{"forkjoin.ErrNoScheduler", forkjoin.ErrNoScheduler, fibersync.ErrNilScheduler},
		{"forkjoin.ErrNotMade", forkjoin.ErrNotMade, sched.ErrNotMade},
		{"forkjoin.ErrInTask", forkjoin.ErrInTask, sched.ErrInTask},
		{"dispatch.ErrNilTask", dispatch.ErrNilTask, sched.ErrNilTask},
		{"dispatch.ErrFull", dispatch.ErrFull, sched.ErrFull},
		{"dispatch.ErrNoContexts", dispatch.ErrNoContexts, sched.ErrNoWorkers},
	} {
		assert.ErrorIs(t, one.value, one.general, one.name)
	}
	assert.Equal(t, sched.ErrNegative, fibersync.ErrNegative)
	assert.Equal(t, sched.ErrNilTask, fibersync.ErrNilFunc)
	assert.Equal(t, sched.ErrNoFiber, fibersync.ErrNoFiber)
	assert.Equal(t, sched.ErrGoexit, fibersync.ErrGoexit)
	assert.NotErrorIs(t, sched.ErrFull, dispatch.ErrFull, "the general case is not the special one")
}
