package park

import (
	"errors"

	"fiberlab/fiber"
)

// The errors that schedulers and primitives have in common. Packages sched and fibersync export
// them under the same names.
var (
	ErrNegative   = errors.New("a negative count: give 0 or more")
	ErrNilFunc    = errors.New("the function is nil: give one to be called")
	ErrNilContext = errors.New("the context is nil: give context.Background() to wait for ever")
	ErrGoexit     = errors.New("the function called runtime.Goexit (testing's FailNow and SkipNow do): return from it instead")

	// ErrNoFiber wraps fiber.ErrNoFiber, ErrNotMade wraps fiber.ErrNotMade.
	ErrNoFiber error = &kind{"the caller does not run on a fiber of a scheduler: run it as a task, or bind a scheduler to its goroutine", fiber.ErrNoFiber}
	ErrNotMade error = &kind{"it is not a fiber of a scheduler: take it from sched.Current()", fiber.ErrNotMade}
)

// kind is a special case of another error, with a text that names its remedy.
type kind struct {
	text string
	of   error
}

func (k *kind) Error() string { return k.text }
func (k *kind) Unwrap() error { return k.of }
