package fiber

import (
	"iter"
	"runtime"
	"sync/atomic"

	"fiberlab/internal/release"
)

// seat is one iter.Pull, seen as a place where one suspended goroutine sits.
//
// Its two functions do the same to the runtime: the caller sits down, and the
// goroutine that sat there gets up and goes on. Neither asks who calls. They only
// must be called in turn: first resume, then yield, then resume. So n coroutines
// bring n seats for as many goroutines and their roots, of which one for each root
// is running: every goroutine that is suspended has a seat, no matter whose, and a
// switch to it is one call on the seat that it is in.
//
// The coroutine that brought the seat takes it away when it ends, and so must have
// it to itself by then: rest sees to that.
type seat struct {
	resume   func() (struct{}, bool)
	yield    func(struct{}) bool
	yieldDue bool
	sitter   atomic.Uint64 // the g of who sits here, or is about to
}

// sit sits the caller down, whose coroutine is co, in place of who sits there, whom
// it has claimed. It returns when the caller, in turn, has been made to get up.
func (co *coroutine) sit(s *seat) {
	co.in = s
	release.Store(&s.sitter, uint64(co.g.Load()))
	if s.yieldDue {
		s.yieldDue = false
		s.yield(struct{}{})
	} else {
		s.yieldDue = true
		s.resume()
	}
}

// place makes the goroutine of c's coroutine, which sits in the seat that comes
// with it. The runtime ties both to the thread of a host that is locked.
func (co *coroutine) place(c *carrier) {
	if co.host.locked {
		co.pin.Store(co.host)
		co.host.pinned++
	}
	co.own = seat{}
	co.in = &co.own
	co.own.resume, _ = iter.Pull(func(yield func(struct{}) bool) {
		co.own.yield = yield
		co.live(c)
	})
}

// rest makes c, whose body has returned, sit down in its own seat, finished, and
// lets the root go on. It returns when c is to run another body or to end: the root
// ends it at once if it can run no other one, or if nobody else could enter it, or if
// enough coroutines idle already.
//
// Most often it is the root that sits there. Else the one that does is claimed and
// gets an errand: it gets up only to change places with the root.
func (co *coroutine) rest(c *carrier) {
	h := co.host
	root := h.root.carrier
	for {
		if !root.shift(Suspended, Running) {
			// Another one that rests is just moving it.
		} else if g := co.own.sitter.Load(); g == uint64(h.root.g) {
			break
		} else if sitter := goroutines.lookup(uintptr(g)); sitter != nil && sitter.shift(Suspended, moving) {
			if co.own.sitter.Load() == g {
				sitter.co.errand = c
				break
			}
			sitter.state.Store(sitter.state.Load()&^stateMask | uint64(Suspended))
			root.state.Store(h.root.generation | uint64(Suspended))
		} else {
			// Never wait for one while holding the other: two that rest may each
			// hold the root that sits in the other's seat.
			root.state.Store(h.root.generation | uint64(Suspended))
		}
		runtime.Gosched()
	}
	as := Finished
	if co.spent || co.pin.Load() != nil || carriers.full.Load() {
		root.co.errand, as = c, Running // till the root has ended it
	}
	h.departed, h.departedAs = c, c.state.Load()&^stateMask|uint64(as)
	h.current = root
	co.sit(&co.own)
	if !co.ending {
		co.host.arrive()
	}
}

// shift changes c's state if it is the one expected, and tells whether it was.
func (c *carrier) shift(from, to State) bool {
	word := c.state.Load()
	return State(word&stateMask) == from && c.state.CompareAndSwap(word, word&^stateMask|uint64(to))
}

// runErrands is what c does when it has got up for the sake of one that rests,
// until it gets up for its own. For the root, the errand is to end the coroutine;
// for any other, to change places with the root.
func (co *coroutine) runErrands(c *carrier) {
	for co.errand != nil {
		resting := co.errand
		co.errand = nil
		h := resting.co.host
		h.arrive()
		root := h.root.carrier
		if c == root {
			resting.co.end()
			resting.state.Store(resting.state.Load()&^stateMask | uint64(Finished))
			return
		}
		h.departed, h.departedAs = c, c.state.Load()&^stateMask|uint64(Suspended)
		co.sit(root.co.in)
	}
	co.host.arrive()
}
