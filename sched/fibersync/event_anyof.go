package fibersync

import (
	"runtime"
	"weak"
)

// AnyOf returns an event that is signalled whenever one of events becomes signalled, and at
// once if one of them is: marl's Event::any. A Signal that finds its event not signalled has
// reached the new one, too, when it returns. Taking a signal of the new event takes none of
// theirs.
//
// The new event keeps a reference to the others, but they keep only a weak one to it: when the
// program has no other reference to the new event, the garbage collector removes it from their
// lists. Until then each Signal of theirs signals it; Detach ends that at once. To wait for one
// of several now and then, use WaitAny.
func AnyOf(mode EventMode, events ...*Event) *Event {
	either := NewEvent(mode, false)
	for _, e := range events {
		either.follows = append(either.follows, &follower{of: e, event: weak.Make(either)})
	}
	runtime.AddCleanup(either, leaveAll, either.follows)
	for _, f := range either.follows {
		if f.join() {
			either.Signal()
		}
	}
	return either
}

// Detach undoes AnyOf: the events that e was made of do not signal it any more. A Signal of
// theirs that is under way may still arrive. Detach does nothing to an event that AnyOf has not
// made. It does not block.
func (e *Event) Detach() {
	e.mu.Lock()
	follows := e.follows
	e.follows = nil
	e.mu.Unlock()
	leaveAll(follows)
}

// follower is the entry of one event in the list of events that are signalled with another event.
type follower struct {
	of    *Event
	event weak.Pointer[Event]

	// f.of.mu guards these.
	joined         bool
	next, previous *follower
}

// join adds f to the followers of f.of, and reports whether that is signalled already.
func (f *follower) join() (signalled bool) {
	f.of.mu.Lock()
	defer f.of.mu.Unlock()
	f.joined, f.next = true, f.of.followers
	if f.next != nil {
		f.next.previous = f
	}
	f.of.followers = f
	return f.of.signalled
}

// leaveAll undoes join for all that are still in a list.
func leaveAll(follows []*follower) {
	for _, f := range follows {
		f.of.mu.Lock()
		if f.joined {
			f.leave()
		}
		f.of.mu.Unlock()
	}
}

// leave takes f, which has joined, out of the list. The caller holds f.of.mu.
func (f *follower) leave() {
	if f.previous != nil {
		f.previous.next = f.next
	} else {
		f.of.followers = f.next
	}
	if f.next != nil {
		f.next.previous = f.previous
	}
	f.joined, f.next, f.previous = false, nil, nil
}

// alive appends to list the followers of e that the garbage collector has not removed. The
// caller holds mu.
func (e *Event) alive(list []*Event) []*Event {
	for f := e.followers; f != nil; f = f.next {
		if e := f.event.Value(); e != nil {
			list = append(list, e)
		}
	}
	return list
}
