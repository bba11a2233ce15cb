package fiber

import (
	"sync/atomic"

	"fiberlab/fiber/internal/identity"
	"fiberlab/internal/release"
)

// The Goroutine backend: fibers as Go's own coroutines, by iter.Pull alone. A switch
// from any fiber to any other is one switch of the runtime: see seat.go.

// coroutine is a goroutine that is a fiber's, or a root. A fiber's serves one body
// after the other; between two it sits in its own seat, as it does before the first.
type coroutine struct {
	g    atomic.Uintptr // that goroutine; 0 if there is none
	host *host          // where it runs or ran last
	in   *seat          // where it sits, unless it runs; nil if there is no goroutine
	own  seat           // the one that it brought; a root brings none

	// pin is the only host that may resume it, if that is locked to its thread; a root's is its own. A
	// party that comes too late to enter it may read this while it ends, hence the atomic.
	pin atomic.Pointer[host]

	errand *carrier // on whose behalf it was made to get up; nil if on its own
	spent  bool     // it cannot run another body, and shall be ended by its root
	ending bool     // it shall end now
}

// goexited is the panic that ends a coroutine whose body called Goexit.
type goexited struct{}

func newCoroutine(k kind) *carrier {
	all := new(struct {
		carrier
		co    coroutine
		state atomic.Uint64
	})
	all.carrier = carrier{kind: k, state: &all.state, co: &all.co}
	return &all.carrier
}

// switchCoroutine is SwitchTo for a fiber of the Goroutine backend. All of the usual
// way is in this one function: each further one would be one more to return from.
func switchCoroutine(f, to *Fiber) error {
	if to == nil || to.carrier == nil {
		return &Error{"switch", "", ErrNotMade}
	}
	c, t := f.carrier, to.carrier
	co, next := c.co, t.co
	g := identity.G()
	if next == nil || co.g.Load() != g && behalf(g) != c || c.fiber.Load() != f || f == to {
		return &Error{"switch", to.name, misused(f, to)}
	}
	h := co.host
	if !h.lock.holds(g) {
		return switchLocked(f, to)
	}
	usual := to.generation | uint64(Suspended)
	if t.state.Load() == usual && h.mayResume(next) && t.state.CompareAndSwap(usual, to.generation|uint64(Running)) {
		next.host = h
	} else if err := h.enter(to); err != nil {
		return &Error{"switch", to.name, err}
	}
	h.departed, h.departedAs = c, f.generation|uint64(Suspended)
	h.current = t

	s := next.in
	co.in = s
	release.Store(&s.sitter, uint64(co.g.Load()))
	if s.yieldDue {
		s.yieldDue = false
		s.yield(struct{}{})
	} else {
		s.yieldDue = true
		s.resume()
	}
	if co.errand != nil {
		co.runErrands(c)
		return nil
	}
	co.host.arrive()
	return nil
}

// misused says why f cannot leave, or not for to.
func misused(f, to *Fiber) error {
	switch {
	case to.carrier.co == nil:
		return ErrMixed
	case Current() == nil:
		return ErrNoFiber
	case Current() != f:
		return ErrNotCurrent
	}
	return ErrSelf
}

// live is what the goroutine of a coroutine does: it runs the bodies of the fibers
// that c is loaded with, one for each time that it is entered.
func (co *coroutine) live(c *carrier) {
	g := identity.G()
	co.g.Store(g)
	goroutines.insert(g, c)
	carriers.identities.Add(1)
	c.enlist()
	defer func() {
		c.strike()
		carriers.identities.Add(-1)
		goroutines.remove(g)
		co.g.Store(0)
		if pin := co.pin.Load(); pin != nil {
			pin.pinned--
			co.pin.Store(nil)
		}
		co.in, co.ending = nil, false
	}()
	co.host.arrive()
	for !co.ending {
		c.run(c.fiber.Load())
		co.host.lock.restore(g)
		co.rest(c)
	}
}

// goexit is called by the deferred function when the body has called Goexit, and
// lets it end the goroutine. By iter.Pull, whoever sits in the coroutine's seat then
// would end as well; a panic takes the place of that, and end looks out for it.
func (co *coroutine) goexit(c *carrier) {
	co.spent = true
	co.host.lock.restore(identity.G())
	co.rest(c)
	panic(goexited{})
}

// end ends the goroutine of a coroutine at rest that belongs to nobody. The caller
// may be any goroutine, but must be tied to the same thread, or to none.
func (co *coroutine) end() {
	defer func() {
		if r := recover(); r != nil && r != (goexited{}) {
			panic(r)
		}
	}()
	co.ending = true
	if co.own.yieldDue {
		co.own.yield(struct{}{})
	} else {
		co.own.resume()
	}
}

// endUnpinned is end for coroutines that are not pinned. Its caller may be tied to a
// thread, as by a callback from C, and waits for a goroutine that is not.
func endUnpinned(cos ...*coroutine) {
	done := make(chan struct{})
	go func() {
		for _, co := range cos {
			co.end()
		}
		close(done)
	}()
	<-done
}
