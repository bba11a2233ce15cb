package fiber

/*
#include "core.h"
*/
import "C"

import (
	"unsafe"

	"fiberlab/fiber/internal/identity"
)

var switchCall = unsafe.Pointer(C.fiberlab_switch_call)

// SwitchTo suspends f, which must be the calling fiber, and runs to. It returns
// nil when another fiber switches back to f, or, if f is a root, when a fiber's body
// has returned on its thread. The thread may then be another one, except for a
// root.
//
// If to cannot be run, SwitchTo returns at once with nothing changed, and an
// *Error that wraps ErrNoFiber, ErrNotMade, ErrNotCurrent, ErrSelf, ErrRunning, ErrFinished,
// ErrClosed, ErrForeignRoot, ErrMixed, ErrPinned, ErrLocked or ErrNoMemory. A switch to a
// root of another thread, or to a fiber that is pinned to another root, is an error. Any
// other fiber may be entered from any thread, one at a time.
//
// A caller may hold locks over a switch only if no other fiber needs them until it
// is switched back to.
func (f *Fiber) SwitchTo(to *Fiber) error { return switches[f.Backend()](f, to) }

// switches has the way to switch for each backend of the fiber that leaves. SwitchTo
// is small enough to be inlined in its callers, so that a switch has one function
// fewer to return from: after a switch, the processor predicts each return wrongly.
var switches = [...]func(f, to *Fiber) error{
	Default: switchByHand, Asm: switchByHand, Ucontext: switchByHand, Goroutine: switchCoroutine,
}

// switchByHand is SwitchTo for the hand-switched backends, and for zero Fibers.
func switchByHand(f, to *Fiber) error {
	if f == nil || f.runner == nil {
		return &Error{"switch", "", ErrNoFiber}
	}
	if to == nil || to.runner == nil {
		return &Error{"switch", "", ErrNotMade}
	}
	var err error
	r, target := f.runner, to.runner
	switch {
	case target.block == nil:
		err = ErrMixed
	case !r.runsHere() || r.fiber.Load() != f || !f.isOwnGoroutine():
		err = ErrNotCurrent
		if Current() == nil {
			err = ErrNoFiber
		}
	default:
		err = r.enter(target, to.generation, Suspended)
	}
	if err != nil {
		return &Error{"switch", to.name, err}
	}
	return nil
}

// enter switches from r, which runs here, to the given generation of target; r comes out
// as Suspended or Finished.
func (r *runner) enter(target *runner, expect uint64, as State) error {
	call := &r.block.call
	call.from, call.to = r.block, target.block
	call.expect = C.uint64_t(expect)
	call.ending = 0
	if as == Finished {
		call.ending = 1
	}
	identity.Call(switchCall, unsafe.Pointer(call))
	return switchErrors[call.error]
}

// switchErrors has the error for each fiberlab_error.
var switchErrors = [...]error{
	C.FIBERLAB_OK:           nil,
	C.FIBERLAB_NOT_FIBER:    ErrNoFiber,
	C.FIBERLAB_NOT_CURRENT:  ErrNotCurrent,
	C.FIBERLAB_SELF:         ErrSelf,
	C.FIBERLAB_RUNNING:      ErrRunning,
	C.FIBERLAB_FINISHED:     ErrFinished,
	C.FIBERLAB_CLOSED:       ErrClosed,
	C.FIBERLAB_FOREIGN_ROOT: ErrForeignRoot,
	C.FIBERLAB_NO_MEMORY:    ErrNoMemory,
}
