package fibersync

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"fiberlab/internal/release"
	"fiberlab/internal/spinlock"
	"fiberlab/sched/park"
)

// waiter is one fiber or goroutine in one wait queue. newWaiter makes one, free gives it back.
//
// A wait ends by a hand-off: the primitive takes the waiter out of its queue, stores in tag what the
// waiter gets, marks it handed off, and unparks it.
type waiter struct {
	parker    park.Parker
	handedOff atomic.Uint64 // 1: the wait is over. The caller that took w out of the queue sets it
	tag       uint64        // for the primitive: what the waiter wants, or what it has got
	missed    int           // how many hand-offs of a Mutex it has missed; the mutex's mu guards it
	what      park.Awaited  // for reports of a deadlock; nil: nothing

	// The mu of the queue's primitive guards these.
	in             *waitQueue // nil: in none
	next, previous *waiter

	whole any // in a queue of a channel, the *offer[T] that embeds this; in that of an event, the *anyEntry

	// A plain goroutine parks by self, which the next user of the waiter inherits. Therefore a
	// goroutine parks once even if it has been handed off already: that takes the token of the
	// Unpark that comes with the hand-off.
	self *park.Goroutine
	lent bool // parker is self
}

var waiterPool = sync.Pool{New: func() any { return new(waiter) }}

// newWaiter returns a waiter of the caller, for one wait. mu is the lock that the caller holds, or nil; see mayPark.
// Callers do not free the waiter by defer: if a context's method panics, it may still be in a queue, and must not be
// reused.
func newWaiter(mu *spinlock.Lock) *waiter {
	p := park.Current()
	mayPark(p, mu)
	w, ok := takeCached[waiter](p)
	if !ok {
		w = waiterPool.Get().(*waiter)
	}
	w.beginAs(p)
	return w
}

// mayPark panics with the error of CanPark if p, which is nil or the caller, must not park. Then it releases mu,
// unless that is nil. Each wait calls it before the caller is in a queue.
func mayPark(p park.Parker, mu *spinlock.Lock) {
	if p == nil {
		return
	}
	if err := p.CanPark(); err != nil {
		if mu != nil {
			mu.Unlock()
		}
		panic(err)
	}
}

// takeCached takes the object that p, which is nil or the caller, has kept from its last wait,
// if that is a W.
func takeCached[W any](p park.Parker) (w *W, ok bool) {
	if p == nil {
		return nil, false
	}
	slot := p.WaiterSlot()
	if slot == nil {
		return nil, false
	}
	if w, ok = (*slot).(*W); ok {
		*slot = nil
	}
	return w, ok
}

// cache leaves whole, which embeds w or is w, in the slot of w's parker for its next wait. w must be in
// no queue. It returns false if the parker has no slot or has something in it.
func (w *waiter) cache(whole any) bool {
	slot := w.parker.WaiterSlot()
	w.parker, w.what = nil, nil
	if slot == nil || *slot != nil {
		return false
	}
	*slot = whole
	return true
}

// reset prepares w for a queue, the first one or another. It must be in none.
func (w *waiter) reset() {
	release.Store(&w.handedOff, 0)
	w.tag = 0
}

// begin makes the caller the parker of w, which is in no queue. It panics if the caller must not park.
func (w *waiter) begin() {
	p := park.Current()
	mayPark(p, nil)
	w.beginAs(p)
}

// beginAs makes p, which is the caller or, for a plain goroutine, nil, the parker of w, which is in no queue.
func (w *waiter) beginAs(p park.Parker) {
	w.reset()
	w.missed = 0
	w.parker, w.lent = p, p == nil
	if !w.lent {
		return
	}
	if w.self == nil {
		w.self = park.NewGoroutine()
	}
	w.parker = w.self
}

// free gives the waiter back. It must be in no queue.
func (w *waiter) free() {
	if !w.cache(w) {
		waiterPool.Put(w)
	}
}

// handOff ends the wait of w, which the caller has taken out of its queue. The caller must not use w
// afterwards: it may be in another queue by then. Release the primitive's mu before, as
// the waiter may want it at once.
func (w *waiter) handOff() {
	parker := w.parker
	release.Store(&w.handedOff, 1)
	parker.Unpark()
}

// await parks the caller, which must be w's parker, until w is handed off, or until u has
// ended: then it returns u's error. The caller holds no mu.
func (w *waiter) await(u until) error {
	if u.Endless() {
		for first := w.lent; first || !w.isHandedOff(); first = false {
			w.announce()
			w.parker.Park(time.Time{})
		}
		return nil
	}
	return w.awaitUntil(u)
}

func (w *waiter) isHandedOff() bool { return w.handedOff.Load() != 0 }

// awaitUntil is await with a u that ends.
func (w *waiter) awaitUntil(u until) error {
	w.self, w.lent = nil, false // a late Unpark may come, so no other goroutine may get this parker
	return u.Await(w.parker, &w.handedOff, w.what)
}

// until bounds a wait by a context, by a deadline, or by both. The zero value never ends.
type until = park.Until

// within is until ctx is done. It panics with an error that wraps ErrNilContext if ctx is nil. If the
// context embeds a nil one, its methods panic; within calls one of them so that this
// happens before the caller is in a queue.
func within(ctx context.Context) until {
	if ctx == nil {
		panic(fmt.Errorf("fibersync: wait with a context: %w", ErrNilContext))
	}
	_, _ = ctx.Deadline()
	return until{Context: ctx}
}

// by is until deadline. The zero time is long past.
func by(deadline time.Time) until {
	if deadline.IsZero() {
		deadline = deadline.Add(1)
	}
	return until{Deadline: deadline}
}
