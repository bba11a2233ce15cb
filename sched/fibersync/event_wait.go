package fibersync

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
)

// WaitAny blocks the caller until one of events is signalled, takes the signal as that
// event's Wait would, and returns the index of the event. If several are signalled when it is
// called, it is the first of them. Those who wait for an event, for it alone or for any of
// several, take its signals in the order of their coming. Without events it blocks for ever.
func WaitAny(events ...*Event) int {
	i, _ := waitAny(until{}, events)
	return i
}

// WaitAnyContext is WaitAny that gives up when ctx is over. It returns -1 and the
// context's error then, and has taken no signal.
func WaitAnyContext(ctx context.Context, events ...*Event) (int, error) {
	return waitAny(within(ctx), events)
}

func waitAny(u until, events []*Event) (int, error) {
	if i := slices.IndexFunc(events, (*Event).Test); i >= 0 {
		return i, nil
	}
	a := newAnyWait(len(events))
	var err error
	if !a.stand(events) {
		if err = a.await(u); err != nil && !a.claim() {
			err = a.await(until{}) // somebody has claimed it
		}
	}
	fired := a.fired
	if err != nil {
		fired = -1
	}
	a.leave(events)
	a.free()
	return fired, err
}

// anyWait is one WaitAny: a party that has a place in the lines of several events. The first to
// claim it gives it a signal; all other places are worth nothing from then on, and the party
// takes them back.
type anyWait struct {
	waiter
	claimed atomic.Bool
	fired   int // the index of the event whose signal it has, once it is granted
	places  []place
}

// place is what stands in the line of one event.
type place struct {
	waiter
	of    *anyWait
	index int
}

var anyWaits = sync.Pool{New: func() any { return new(anyWait) }}

// newAnyWait is the caller's, for one wait for any of so many.
func newAnyWait(events int) *anyWait {
	a := anyWaits.Get().(*anyWait)
	if len(a.places) < events {
		a.places = make([]place, events)
		for i := range a.places {
			p := &a.places[i]
			p.of, p.index, p.whole = a, i, p
		}
	}
	a.claimed.Store(false)
	a.begin()
	return a
}

// free gives a back. It must be in no line.
func (a *anyWait) free() {
	a.party = nil
	anyWaits.Put(a)
}

// stand puts a place into each line, and returns false; or takes a signal that has come, and
// returns true. The lines get their places one after the other: what is signalled
// meanwhile gives its signal to the place that it finds.
func (a *anyWait) stand(events []*Event) (taken bool) {
	for i, e := range events {
		e.guard.Lock()
		signalled := e.signalled
		if !signalled {
			e.line.push(&a.places[i].waiter)
		} else if taken = a.claim(); taken {
			e.take()
			a.fired = i
		}
		e.guard.Unlock()
		if signalled {
			break
		}
	}
	return taken
}

// leave takes all places back.
func (a *anyWait) leave(events []*Event) {
	for i, e := range events {
		e.guard.Lock()
		e.line.remove(&a.places[i].waiter)
		e.guard.Unlock()
	}
}

// claim tells whether the caller is the first to claim a: the party itself, or somebody who has
// found a place and holds the guard of its line.
func (a *anyWait) claim() bool { return a.claimed.CompareAndSwap(false, true) }

// claim takes the first out of e's line who still waits, or returns nil. The guard must be
// held. grantTakers grants whom it returns.
func (e *Event) claim() *waiter {
	for w := e.line.pop(); w != nil; w = e.line.pop() {
		p, ok := w.whole.(*place)
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

// claimAll is claim for all who still wait, each of whom has the next.
func (e *Event) claimAll() *waiter {
	var takers line
	for w := e.claim(); w != nil; w = e.claim() {
		takers.push(w)
	}
	return takers.takeAll()
}

// grantTakers grants all whom claim or claimAll has returned. The guard is better not held.
func grantTakers(first *waiter) {
	for w := first; w != nil; {
		next := w.next // w may be in another line once it is granted
		if p, ok := w.whole.(*place); ok {
			w = &p.of.waiter
		}
		w.grant()
		w = next
	}
}
