package fiber

/*
#include "core.h"
*/
import "C"

import (
	"runtime"

	"fiberlab/fiber/internal/identity"
)

// Untie unties the root f, which must call it, from its thread, which goes on with other goroutines. Until
// Tie, the caller is a goroutine like any other: it may block as one, and it may be woken on another thread. It
// is no fiber: Current returns nil, and f cannot switch, but is Running to other threads. f's fibers stay as they are.
//
// A goroutine that is woken by another one runs next on that one's thread, without a call to the kernel. A goroutine
// that is locked to its thread, as a root is, has to be woken by way of that thread.
//
// A coroutine of iter.Pull that the caller made before must not be asked for values until Tie, and after Tie only if
// the thread is the same: the runtime would end the program.
//
// On Goroutine, whose roots are not tied, Untie does nothing. It returns ErrNotMade, ErrClosed, ErrNotRoot,
// ErrNotCurrent, or ErrTied if C made the thread.
// If the goroutine has locked itself to the thread besides, it stays there.
func (f *Fiber) Untie() error {
	if err := f.checkCaller("untie"); err != nil {
		return err
	}
	switch {
	case Current() != f:
		return &Error{"untie", f.name, ErrNotCurrent}
	case f.runner.driver != nil:
		return nil
	}
	if C.fiberlab_untie(f.runner.block) != C.FIBERLAB_OK {
		return &Error{"untie", f.name, ErrTied}
	}
	f.stopTicking()
	runtime.UnlockOSThread()
	return nil
}

// Tie makes the calling goroutine, which must be that of the root f, the root fiber of the thread that it is on now,
// and locks it to that. It may be called again after each Untie. It takes some 100 ns and does not block. f keeps the
// name that it has.
//
// It returns ErrNotMade, ErrClosed, ErrNotRoot, ErrNotCurrent if another goroutine calls it, or ErrAttached if the
// caller is a fiber.
func (f *Fiber) Tie() error {
	if err := f.checkCaller("tie"); err != nil {
		return err
	}
	switch {
	case f.runner.driver != nil:
		return nil
	case Current() != nil:
		return &Error{"tie", f.name, ErrAttached}
	}
	runtime.LockOSThread()
	if C.fiberlab_tie(f.runner.block, C.uintptr_t(identity.M())) != C.FIBERLAB_OK {
		runtime.UnlockOSThread()
		return &Error{"tie", f.name, ErrAttached}
	}
	if locksKnown.Load() {
		f.lock = threadLockOf(f.g)
	}
	return nil
}
