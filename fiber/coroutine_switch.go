package fiber

import (
	"sync/atomic"

	"fiberlab/fiber/internal/identity"
	"fiberlab/internal/release"
)

// The Goroutine backend, all of which is in the files coroutine_*.go: fibers as Go's own coroutines, by iter.Pull
// alone. A switch from any fiber to any other is one switch of the runtime: see coroutine_handle.go.

// coroutine is the goroutine of a fiber, or a root. A fiber's runs one body after the other; between two it
// waits in its own handle, as it does before the first.
type coroutine struct {
	g    atomic.Uintptr // that goroutine; 0 if there is none
	root *driverRoot    // under which it runs or ran last
	in   *resumeHandle  // in which it waits, unless it runs; nil if there is no goroutine
	own  resumeHandle   // the handle that it brought; a root brings none

	// pin is the only driver root under which it may run, if that is locked to its thread; a root's is its own.
	// It is atomic because a root that comes too late to enter it reads this while it ends.
	pin atomic.Pointer[driverRoot]

	deferred *runner // the finished runner for whose request it was resumed; nil if for itself
	spent    bool    // it cannot run another body, and its driver root is to end it
	ending   bool    // it is to end now
}

func newCoroutine(k kind) *runner {
	all := new(struct {
		runner
		co    coroutine
		state atomic.Uint64
	})
	all.runner = runner{kind: k, state: &all.state, co: &all.co}
	return &all.runner
}

// switchCoroutine is SwitchTo for a fiber of the Goroutine backend. The usual path, with the body of waitIn, is written
// out in this one function, because after a switch the processor predicts each further return wrongly:
// docs/scheduler.md names the benchmark.
func switchCoroutine(f, to *Fiber) error {
	if to == nil || to.runner == nil {
		return &Error{"switch", "", ErrNotMade}
	}
	r, target := f.runner, to.runner
	co, next := r.co, target.co
	g := identity.G()
	if next == nil || co.g.Load() != g && onBehalfOf(g) != r || r.fiber.Load() != f || f == to {
		return &Error{"switch", to.name, misused(f, to)}
	}
	d := co.root
	if !d.lock.holds(g) {
		return switchLocked(f, to)
	}
	usual := to.generation | uint64(Suspended)
	if suspended := target.state.Load() == usual; suspended && d.locked && next.pin.Load() == d {
		release.Store(target.state, to.generation|uint64(Running)) // only what runs under d may change it
	} else if suspended && d.mayRun(next) && target.state.CompareAndSwap(usual, to.generation|uint64(Running)) {
		next.root = d
	} else if err := d.enter(to); err != nil {
		return &Error{"switch", to.name, err}
	}
	d.departed, d.departedAs = r, f.generation|uint64(Suspended)
	d.current = target

	h := next.in // from here to the next else: waitIn
	co.in = h
	release.Store(&h.occupant, uint64(co.g.Load()))
	if h.yieldDue {
		h.yieldDue = false
		h.yield(struct{}{})
	} else {
		h.yieldDue = true
		h.resume()
	}
	if co.deferred != nil {
		co.serveDeferred(r)
		return nil
	}
	co.root.arrive()
	return nil
}

// misused returns the reason why f cannot leave, or not for to.
func misused(f, to *Fiber) error {
	switch {
	case to.runner.co == nil:
		return ErrMixed
	case Current() == nil:
		return ErrNoFiber
	case Current() != f:
		return ErrNotCurrent
	}
	return ErrSelf
}
