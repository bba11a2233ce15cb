package fibersync

import "fiberlab/sched/park"

// The errors that several primitives have in common; the others stand beside the primitive
// that returns them. Each error of this package wraps one such value, for errors.Is, and
// says which call went wrong. Where a method has no error to return, misuse is a
// panic with such an error.
//
// Package sched has some of them too: these are the same values there. A wait that ends because its
// context is done returns context.Cause of the context.
var (
	ErrNegative   = park.ErrNegative
	ErrNilFunc    = park.ErrNilFunc // sched.ErrNilTask
	ErrNilContext = park.ErrNilContext
	ErrNoFiber    = park.ErrNoFiber
	ErrGoexit     = park.ErrGoexit
)
