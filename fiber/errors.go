package fiber

import (
	"errors"
	"fmt"
)

// The errors of this package. An *Error names the fiber concerned, and wraps one of these or one of
// package stack. Supported, ParseBackend, Resolve and Drain may return errors without an *Error around them.
var (
	ErrBackend     = errors.New("unknown backend")
	ErrUnsupported = errors.New("fibers cannot be switched by hand")
	ErrNoFiber     = errors.New("the calling goroutine is not a fiber: make it one with fiber.Attach")
	ErrNotCurrent  = errors.New(
		"the fiber on which the method was called does not run here: call it on fiber.Current(), " +
			"after Untie call Tie first",
	)
	ErrSelf    = errors.New("a fiber cannot switch to itself: switch to another one")
	ErrRunning = errors.New(
		"it is running on another thread, or has not quite left it yet: try again once it has switched away",
	)
	ErrSuspended = errors.New("it is suspended in mid-function: switch to it until its body returns")
	ErrFinished  = errors.New("its body has returned: close it, and make another one")
	ErrClosed    = errors.New("it was closed or detached: make another one, or attach again")
	ErrNotMade   = errors.New("it is not a fiber: make one with fiber.New, fiber.NewC or fiber.Attach")
	ErrHolds     = errors.New(
		"coroutines are suspended that only this goroutine can resume, because it is locked to its thread: " +
			"let their bodies return first",
	)
	ErrForeignRoot = errors.New("it is the root fiber of another thread: switch to it from a fiber that runs there")
	ErrMixed       = errors.New(
		"goroutine fibers and hand-switched fibers cannot switch to one another: " +
			"attach the root with the backend of its fibers",
	)
	ErrPinned = errors.New(
		"its coroutine belongs to a goroutine that is locked to its thread: switch to it from there, " +
			"or do not lock the roots",
	)
	ErrLocked = errors.New(
		"the caller is not locked to its thread as its root was when it was attached: " +
			"return from the callback of C first, undo runtime.LockOSThread, or use another backend than goroutine",
	)
	ErrTied = errors.New(
		"its thread was made by C, and it is in a callback there: attach a goroutine that Go code has started",
	)
	ErrAttached  = errors.New("the calling goroutine is a fiber already: detach it first")
	ErrNotRoot   = errors.New("it is not a root fiber: call this on the fiber that fiber.Attach returned")
	ErrRoot      = errors.New("it is a root fiber: end it with Detach")
	ErrNoBody    = errors.New("the body is nil: give the fiber a function")
	ErrStackSize = errors.New("bad stack size")
	ErrNoMemory  = errors.New("no memory for the context: close fibers that are finished, then call fiber.Drain")
)

// Error says which operation failed on which fiber, and why.
type Error struct {
	Op    string // "switch", "close", "detach", "new", "attach", "prewarm", "check", "untie", "tie", "set the value"
	Fiber string // the name of the fiber concerned
	Err   error  // one of the errors of this package, or of package stack
}

func (e *Error) Error() string {
	if e.Fiber == "" {
		return fmt.Sprintf("fiber: %s: %v", e.Op, e.Err)
	}
	return fmt.Sprintf("fiber: %s %q: %v", e.Op, e.Fiber, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }
