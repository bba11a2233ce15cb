package stack

import "errors"

// The errors of this package. An error that it returns wraps one of them, and the kernel's errno if
// a system call failed; test with errors.Is.
var (
	// ErrSize: Options.Size is negative or above MaxSize.
	ErrSize = errors.New("stack: impossible stack size")
	// ErrGuard: the kind of guard asked for does not exist or does not work on
	// this kernel, or Options.GuardPages is negative or above MaxGuardPages.
	ErrGuard = errors.New("stack: guard not available")
	// ErrExhausted: the kernel has no addresses, mappings or memory left for
	// another stack. The pool stays usable.
	ErrExhausted = errors.New("stack: no room for another stack")
	// ErrClosed: the pool is closed.
	ErrClosed = errors.New("stack: the pool is closed: make another one")
	// ErrForeign: the stack does not come from this pool.
	ErrForeign = errors.New("stack: not a stack of this pool")
	// ErrNotInUse: the stack was put back already.
	ErrNotInUse = errors.New("stack: stack is not in use")
	// ErrInUse: the pool cannot be closed while stacks are out.
	ErrInUse = errors.New("stack: stacks still in use")
)
