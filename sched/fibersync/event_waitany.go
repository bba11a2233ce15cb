package fibersync

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
)

// WaitAny blocks the caller until one of events is signalled, takes the signal as that event's
// Wait would, and returns the index of the event. If several are signalled at the time of the
// call, it takes the first of them. An event's signals go to its waiters in the order of their
// arrival, whether they wait for it alone or for any of several. Without events it never returns.
//
// A caller that needs two signals waits for one event after the other, in an order that is the same for all callers. A
// loop that takes any one, calls Test on the other and Signal on the first anew may never end. While others wait, each
// signal is handed off, and Test does not find it.
func WaitAny(events ...*Event) int {
	i, _ := waitAny(until{}, events)
	return i
}

// WaitAnyContext is WaitAny that gives up when ctx is done. Then it returns -1 and
// context.Cause(ctx), and has taken no signal.
func WaitAnyContext(ctx context.Context, events ...*Event) (int, error) {
	return waitAny(within(ctx), events)
}

func waitAny(u until, events []*Event) (int, error) {
	if i := slices.IndexFunc(events, (*Event).Test); i >= 0 {
		return i, nil
	}
	a := newAnyWait(len(events))
	var err error
	if !a.enqueue(events) {
		if err = a.await(u); err != nil && !a.claim() {
			err = a.await(until{}) // it has been claimed, and the hand-off is under way
		}
	}
	fired := a.fired
	if err != nil {
		fired = -1
	}
	a.dequeue(events)
	a.free()
	return fired, err
}

// anyWait is one WaitAny: a waiter with an entry in the queues of several events. The first
// event to claim it gives it a signal. All other entries are void from then on, and the waiter
// removes them.
type anyWait struct {
	waiter
	claimed atomic.Bool
	fired   int // the index of the event whose signal it has, once it is handed off
	entries []anyEntry
}

// anyEntry is what is in the queue of one event.
type anyEntry struct {
	waiter
	of    *anyWait
	index int
}

var anyWaits = sync.Pool{New: func() any { return new(anyWait) }}

// newAnyWait returns an anyWait of the caller, for one wait for any of so many events.
func newAnyWait(events int) *anyWait {
	a := anyWaits.Get().(*anyWait)
	if len(a.entries) < events {
		a.entries = make([]anyEntry, events)
		for i := range a.entries {
			p := &a.entries[i]
			p.of, p.index, p.whole = a, i, p
		}
	}
	a.claimed.Store(false)
	a.begin()
	return a
}

// free gives a back. It must be in no queue.
func (a *anyWait) free() {
	a.parker = nil
	anyWaits.Put(a)
}

// enqueue puts an entry into each queue and returns false, or takes a signal that has come and
// returns true. It fills the queues one after the other: an event that is signalled before all
// are filled gives its signal to the entry that it finds.
func (a *anyWait) enqueue(events []*Event) (taken bool) {
	for i, e := range events {
		e.mu.Lock()
		signalled := e.signalled
		if !signalled {
			e.waiters.push(&a.entries[i].waiter)
		} else if taken = a.claim(); taken {
			e.take()
			a.fired = i
		}
		e.mu.Unlock()
		if signalled {
			break
		}
	}
	return taken
}

// dequeue removes all entries.
func (a *anyWait) dequeue(events []*Event) {
	for i, e := range events {
		e.mu.Lock()
		e.waiters.remove(&a.entries[i].waiter)
		e.mu.Unlock()
	}
}

// claim reports whether the caller is the first to claim a. The caller is the waiter itself, or
// has found an entry and holds the mu of that event.
func (a *anyWait) claim() bool { return a.claimed.CompareAndSwap(false, true) }

// claim takes the first waiter that still waits out of e's queue, or returns nil. The caller
// holds mu. handOffTakers hands off what it returns.
func (e *Event) claim() *waiter {
	for w := e.waiters.pop(); w != nil; w = e.waiters.pop() {
		p, ok := w.whole.(*anyEntry)
		if !ok {
			return w
		}
		if p.of.claim() {
			p.of.fired = p.index
			return w
		}
	}
	return nil
}

// claimAll is claim for all that still wait; the first links to the others by next.
func (e *Event) claimAll() *waiter {
	var takers waitQueue
	for w := e.claim(); w != nil; w = e.claim() {
		takers.push(w)
	}
	return takers.takeAll()
}

// handOffTakers hands off all that claim or claimAll has returned. The caller should hold no
// mu.
func handOffTakers(first *waiter) {
	for w := first; w != nil; {
		next := w.next // w may be in another queue once it is handed off
		if p, ok := w.whole.(*anyEntry); ok {
			w = &p.of.waiter
		}
		w.handOff()
		w = next
	}
}
