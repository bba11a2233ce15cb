package fiber

/*
#include "core.h"
*/
import "C"

import (
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"

	"fiberlab/fiber/internal/identity"
)

// Attach makes the calling goroutine the root fiber of its thread. Other fibers are entered
// from it, and the thread returns to it when the body of one ends.
//
// On Asm and Ucontext, whose fibers may switch to one another, Attach locks the goroutine
// to its thread until Detach. On Goroutine it does not, and the root's fibers may be
// entered from any other root that is not locked. A body or root that then locks itself to its thread,
// or is in a callback from C, switches through a stand-in goroutine, which costs some
// microseconds. If the root was locked before Attach, Attach locks it once more until Detach, and SwitchTo returns
// ErrLocked there.
//
// Attach returns ErrAttached, ErrBackend, ErrUnsupported, ErrNoMemory or, if the probes of
// Supported lack memory, an error of package stack. The goroutine must call Detach before
// it ends, best by defer: otherwise a new goroutine may be mistaken for this fiber, and misbehave.
func Attach(b Backend) (*Fiber, error) {
	f, err := attach(b)
	if err == nil {
		runners.roots.Add(1)
	}
	return f, err
}

// attach is Attach for a root that is not counted.
func attach(b Backend) (*Fiber, error) {
	b, err := b.Resolve()
	if err != nil {
		return nil, &Error{"attach", "", err}
	}
	if f := Current(); f != nil {
		return nil, &Error{"attach", f.name, ErrAttached}
	}
	if !b.handSwitched() {
		return attachDriverRoot(), nil
	}
	if err := Supported(); err != nil {
		return nil, &Error{"attach", "", err}
	}
	return attachThread(b)
}

// attachThread is Attach for a hand-switched backend and a goroutine that is not a fiber.
func attachThread(b Backend) (*Fiber, error) {
	r, err := newBlock(kind{backend: b})
	if err != nil {
		return nil, &Error{"attach", "", err}
	}
	findLocks()
	runtime.LockOSThread()
	f := &Fiber{
		name: fmt.Sprintf("root of thread %d", unix.Gettid()), backend: b, runner: r, g: identity.G(), ticks: true,
	}
	if locksKnown.Load() {
		f.lock = threadLockOf(f.g)
	}
	r.load(f, Running)
	if code := C.fiberlab_attach(r.block, C.uintptr_t(identity.M()), C.uintptr_t(f.g)); code != C.FIBERLAB_OK {
		runtime.UnlockOSThread()
		r.state.Store(f.generation | uint64(Closed))
		r.fiber.Store(nil)
		freeBlock(r)
		if code == C.FIBERLAB_NO_MEMORY {
			return nil, &Error{"attach", f.name, ErrNoMemory}
		}
		return nil, &Error{"attach", f.name, ErrAttached}
	}
	r.listForDump()
	tickFor(demand{roots: 1})
	return f, nil
}

// Detach makes the root f a plain goroutine again. It must be called by f itself,
// and returns ErrNotMade, ErrNotRoot, ErrNotCurrent or ErrClosed otherwise. After Untie, call
// Tie first. Suspended fibers stay as they are; another root may enter them. If some are pinned
// to f (ErrPinned), Detach returns ErrHolds and does nothing.
func (f *Fiber) Detach() error {
	err := f.detach()
	if err == nil {
		runners.detached()
	}
	return err
}

// detach is Detach for a root that is not counted.
func (f *Fiber) detach() error {
	if err := f.checkCaller("detach"); err != nil {
		return err
	}
	r := f.runner
	switch {
	case Current() != f:
		return &Error{"detach", f.name, ErrNotCurrent}
	case r.driver != nil && r.driver.pinned > 0:
		return &Error{"detach", f.name, ErrHolds}
	}
	r.unlistForDump()
	if r.driver != nil {
		r.driver.detach()
	} else {
		if code := C.fiberlab_detach(r.block); code != C.FIBERLAB_OK {
			return &Error{"detach", f.name, switchErrors[code]}
		}
		r.state.Store(f.generation | uint64(Closed))
		r.fiber.Store(nil)
		freeBlock(r)
		runtime.UnlockOSThread()
		f.stopTicking()
	}
	return nil
}

// checkCaller returns an error if the caller must not do op to the root f. f must be an attached root, and the caller
// its goroutine, not a coroutine of iter.Pull that runs for it.
func (f *Fiber) checkCaller(op string) error {
	switch {
	case f == nil || f.runner == nil:
		return &Error{op, "", ErrNotMade}
	case f.State() == Closed:
		return &Error{op, f.name, ErrClosed}
	case !f.isRoot():
		return &Error{op, f.name, ErrNotRoot}
	case f.g != identity.G():
		return &Error{op, f.name, ErrNotCurrent}
	}
	return nil
}
