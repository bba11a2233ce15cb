package fiber

import (
	"runtime"
	"sync/atomic"

	"fiberlab/internal/release"
)

// resumeHandle is one iter.Pull, seen as a slot in which one suspended goroutine waits.
//
// Its two functions do the same to the runtime: the caller begins to wait in the handle, and the goroutine that waited
// there goes on. Neither checks its caller. They must be called alternately: first resume, then yield, then resume. So
// n coroutines bring n handles for n goroutines and their roots, of which one for each root is running. Every suspended
// goroutine waits in some handle, no matter whose. A switch to it is one call on that handle.
//
// The coroutine that brought the handle takes it away when it ends. Until then it must have come
// back to wait in it: finish sees to that.
type resumeHandle struct {
	resume   func() (struct{}, bool)
	yield    func(struct{}) bool
	yieldDue bool
	occupant atomic.Uint64 // the g of the goroutine that waits here, or is about to
}

// waitIn makes the caller, whose coroutine is co, wait in h, and resumes the goroutine that waited there, which
// the caller has claimed. It returns when the caller is resumed in turn.
func (co *coroutine) waitIn(h *resumeHandle) {
	co.in = h
	release.Store(&h.occupant, uint64(co.g.Load()))
	if h.yieldDue {
		h.yieldDue = false
		h.yield(struct{}{})
	} else {
		h.yieldDue = true
		h.resume()
	}
}

// finish publishes r, whose body has returned, as Finished and hands over to its driver root. It returns when r must
// run another body or end. The root ends it at once if it cannot run another one, if no other root could enter it, or
// if enough coroutines idle already.
//
// The coroutine must wait in its own handle for that. Most often its driver root occupies it. If not, finish claims
// the occupant, and resumes it with a deferred request: to change places with the root.
func (co *coroutine) finish(r *runner) {
	d := co.root
	root := d.fiber.runner
	for {
		if !root.shift(Suspended, Running) {
			// Another coroutine that finishes is moving it to another handle.
		} else if g := co.own.occupant.Load(); g == uint64(d.fiber.g) {
			break
		} else if occupant := goroutines.lookup(uintptr(g)); occupant != nil && d.mayMove(occupant) {
			if co.own.occupant.Load() == g {
				occupant.co.deferred = r
				break
			}
			occupant.state.Store(occupant.state.Load()&^stateMask | uint64(Suspended))
			root.state.Store(d.fiber.generation | uint64(Suspended))
		} else {
			// Never wait for one while holding the other: two that finish may each
			// hold the root that occupies the other's handle.
			root.state.Store(d.fiber.generation | uint64(Suspended))
		}
		runtime.Gosched()
	}
	as := Finished
	if co.spent || co.pin.Load() != nil || runners.full.Load() {
		root.co.deferred, as = r, Running // till the root has ended it
	}
	d.departed, d.departedAs = r, r.state.Load()&^stateMask|uint64(as)
	d.current = root
	co.waitIn(&co.own)
	if !co.ending {
		co.root.arrive()
	}
}

// mayMove claims r, which seems to wait in a handle that a coroutine under d wants back, and reports whether it did. It
// leaves a runner alone that is pinned to another root which is locked:
// only what runs under that one may change its state.
func (d *driverRoot) mayMove(r *runner) bool {
	word := r.state.Load()
	if State(word&stateMask) != Suspended {
		return false
	}
	// The pin is settled as long as the word stays.
	pin := r.co.pin.Load()
	return (pin == nil || pin == d || !pin.locked) && r.state.CompareAndSwap(word, word&^stateMask|uint64(moving))
}

// shift changes r's state if it is the one expected, and reports whether it was.
func (r *runner) shift(from, to State) bool {
	word := r.state.Load()
	return State(word&stateMask) == from && r.state.CompareAndSwap(word, word&^stateMask|uint64(to))
}

// serveDeferred runs on r, whose coroutine co is, when that was resumed for the deferred request of another runner,
// which finishes. It returns when r is resumed for itself. The driver root's part is to end the coroutine of the other;
// any other runner's is to change places with that root.
func (co *coroutine) serveDeferred(r *runner) {
	for co.deferred != nil {
		finishing := co.deferred
		co.deferred = nil
		d := finishing.co.root
		d.arrive()
		root := d.fiber.runner
		if r == root {
			finishing.co.end()
			finishing.state.Store(finishing.state.Load()&^stateMask | uint64(Finished))
			return
		}
		d.departed, d.departedAs = r, r.state.Load()&^stateMask|uint64(Suspended)
		co.waitIn(root.co.in)
	}
	co.root.arrive()
}
