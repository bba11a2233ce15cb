package park

import (
	"errors"

	"fiberlab/fiber"
	"fiberlab/internal/fault"
)

// The errors that schedulers and primitives have in common. Packages sched and fibersync export
// them under the same names.
var (
	ErrNegative   = errors.New("a negative count: give 0 or more")
	ErrNilFunc    = errors.New("the function is nil: give one to be called")
	ErrNilContext = errors.New("the context is nil: give context.Background() for a wait without end")
	ErrGoexit     = errors.New(
		"the function called runtime.Goexit (testing's FailNow and SkipNow do): return from it instead",
	)

	// ErrNoFiber wraps fiber.ErrNoFiber, ErrNotMade wraps fiber.ErrNotMade.
	ErrNoFiber = fault.Of(
		fiber.ErrNoFiber,
		"the caller does not run on a fiber of a scheduler: run it as a task, or bind a scheduler to its goroutine",
	)
	ErrNotMade = fault.Of(fiber.ErrNotMade, "it is not a fiber of a scheduler: take it from sched.Current()")
)
