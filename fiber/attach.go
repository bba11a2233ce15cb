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

// Attach makes the calling goroutine the root fiber of its thread, from which
// other fibers can be entered and to which those return whose bodies end.
//
// On Asm and Ucontext, whose fibers may switch to one another, the goroutine is
// locked to its thread until Detach. On Goroutine it is not, and its fibers may be
// entered from any root that is not locked either. A body or root that locks its thread
// then, or is in a callback from C, switches by a goroutine that stands in for it, which costs some
// microseconds; but if the root was locked before Attach it cannot, and SwitchTo returns ErrLocked.
//
// Attach returns ErrAttached, ErrBackend, ErrUnsupported or ErrNoMemory. Whoever
// attaches must detach before the goroutine ends, best by defer: otherwise a later
// goroutine may be taken for this one.
func Attach(b Backend) (*Fiber, error) {
	b, err := b.Resolve()
	if err != nil {
		return nil, &Error{"attach", "", err}
	}
	if f := Current(); f != nil {
		return nil, &Error{"attach", f.name, ErrAttached}
	}
	if !b.handSwitched() {
		return attachHost(), nil
	}
	if err := Supported(); err != nil {
		return nil, &Error{"attach", "", err}
	}
	return attachThread(b)
}

// attachThread is Attach for a hand-switched backend, by a goroutine that is no fiber.
func attachThread(b Backend) (*Fiber, error) {
	c, err := newBlock(kind{backend: b})
	if err != nil {
		return nil, &Error{"attach", "", err}
	}
	findLocks()
	runtime.LockOSThread()
	f := &Fiber{name: fmt.Sprintf("root of thread %d", unix.Gettid()), backend: b, carrier: c, g: identity.G()}
	if locksKnown.Load() {
		f.lock = threadLockOf(f.g)
	}
	c.load(f, Running)
	if code := C.fiberlab_attach(c.block); code != C.FIBERLAB_OK {
		runtime.UnlockOSThread()
		c.state.Store(f.generation | uint64(Closed))
		c.unload()
		freeBlock(c)
		if code == C.FIBERLAB_NO_MEMORY {
			return nil, &Error{"attach", f.name, ErrNoMemory}
		}
		return nil, &Error{"attach", f.name, ErrAttached}
	}
	carriers.roots.Add(1)
	c.enlist()
	startTicking()
	return f, nil
}

// Detach makes the root f a plain goroutine again. It must be called by f itself,
// and returns ErrNotRoot, ErrNotCurrent or ErrClosed otherwise. Fibers that are
// suspended stay as they are; another root may enter them. Where that is impossible
// (ErrPinned), Detach returns ErrHolds and does nothing.
func (f *Fiber) Detach() error {
	if f == nil || f.carrier == nil {
		return &Error{"detach", "", ErrNotMade}
	}
	c := f.carrier
	switch {
	case f.State() == Closed:
		return &Error{"detach", f.name, ErrClosed}
	case !f.isRoot():
		return &Error{"detach", f.name, ErrNotRoot}
	case Current() != f:
		return &Error{"detach", f.name, ErrNotCurrent}
	case c.host != nil && c.host.pinned > 0:
		return &Error{"detach", f.name, ErrHolds}
	}
	c.strike()
	if c.host != nil {
		c.host.detach()
	} else {
		if code := C.fiberlab_detach(c.block); code != C.FIBERLAB_OK {
			return &Error{"detach", f.name, switchErrors[code]}
		}
		c.state.Store(f.generation | uint64(Closed))
		c.unload()
		freeBlock(c)
		runtime.UnlockOSThread()
		stopTicking()
	}
	carriers.roots.Add(-1)
	return nil
}
