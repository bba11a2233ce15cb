package fiber

/*
#include "core.h"
*/
import "C"

import (
	"runtime"

	"fiberlab/fiber/internal/identity"
)

// Untie unties the root f, which must call it, from its thread. The thread runs other goroutines then. Until
// Tie, the caller is a goroutine like any other: it may block as one, and it may be woken on another thread. It
// is no fiber: Current returns nil, and f cannot switch, but is Running to other threads. f's fibers stay as they are.
//
// A goroutine that is woken by another one runs next on that one's thread, without a call to the kernel. A goroutine
// that is locked to its thread, as a root is, has to be woken by way of that thread.
//
// Until Tie, the caller must not ask a coroutine of iter.Pull that it made before for values. After Tie it may, if the
// thread is the same. Otherwise the runtime ends the program.
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

// Tie makes the calling goroutine, which must be the goroutine of the root f, the root fiber of its present thread, and
// locks it to that thread. It may be called again after each Untie. It takes some 100 ns and does not block. f keeps
// its name.
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
