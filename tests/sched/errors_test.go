package sched_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"fiberlab/fiber"
	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/sched/forkjoin"
	"fiberlab/sched/uring"
)

// An error that one package has for a fault is also that of the package below it: who knows the one by errors.Is knows the other.
func TestErrorsAreOneSet(t *testing.T) {
	for _, one := range []struct {
		name           string
		value, general error
	}{
		{"sched.ErrNoFiber", sched.ErrNoFiber, fiber.ErrNoFiber},
		{"sched.ErrNotMade", sched.ErrNotMade, fiber.ErrNotMade},
		{"fibersync.ErrNegative", fibersync.ErrNegative, sched.ErrNegative},
		{"fibersync.ErrNilFunc", fibersync.ErrNilFunc, sched.ErrNilTask},
		{"fibersync.ErrNilContext", fibersync.ErrNilContext, sched.ErrNilContext},
		{"fibersync.ErrNoFiber", fibersync.ErrNoFiber, sched.ErrNoFiber},
		{"fibersync.ErrGoexit", fibersync.ErrGoexit, sched.ErrGoexit},
		{"forkjoin.ErrNoScheduler", forkjoin.ErrNoScheduler, fibersync.ErrNilScheduler},
		{"forkjoin.ErrNotMade", forkjoin.ErrNotMade, sched.ErrNotMade},
		{"forkjoin.ErrInTask", forkjoin.ErrInTask, sched.ErrInTask},
		{"uring.ErrNilTask", uring.ErrNilTask, sched.ErrNilTask},
		{"uring.ErrFull", uring.ErrFull, sched.ErrFull},
		{"uring.ErrNoContexts", uring.ErrNoContexts, sched.ErrNoWorkers},
	} {
		assert.ErrorIs(t, one.value, one.general, one.name)
	}
	assert.NotErrorIs(t, sched.ErrFull, uring.ErrFull, "the general case is not the special one")
}
