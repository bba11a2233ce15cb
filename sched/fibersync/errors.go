package fibersync

import "errors"

// What can be wrong with a call of several primitives; each has its own errors beside
// it. All errors of this package wrap such a value and name what they are about. Where
// a method has no error to return, misuse is a panic with one.
var (
	ErrNegative  = errors.New("a negative count: give 0 or more")
	ErrNoContext = errors.New("the context is nil: give context.Background() to wait for ever")
	ErrNilFunc   = errors.New("there is no function: give one to be called")
)
