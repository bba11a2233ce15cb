package fibersync

import (
	"runtime"
	"weak"
)

// AnyOf makes an event that is signalled whenever one of events becomes signalled, and at
// once if one of them is: marl's Event::any. A Signal that finds its event not signalled
// has reached the new one, too, when it returns. The events keep what signals they have,
// whoever takes the new one's.
//
// The new event keeps the others, but they do not keep it: when nobody has it any more, the
// garbage collector takes it away from them. Until then each Signal of theirs signals it;
// Detach ends that at once. To wait for one of several now and then, use WaitAny.
func AnyOf(mode EventMode, events ...*Event) *Event {
	either := NewEvent(mode, false)
	for _, e := range events {
		either.follows = append(either.follows, &follower{of: e, who: weak.Make(either)})
	}
	runtime.AddCleanup(either, leaveAll, either.follows)
	for _, f := range either.follows {
		if f.join() {
			either.Signal()
		}
	}
	return either
}

// Detach ends what AnyOf has begun: the events that e was made of do not signal it any more.
// A Signal of theirs that is under way may still come. Detach does nothing to an event
// that AnyOf has not made. It does not block.
func (e *Event) Detach() {
	e.guard.Lock()
	follows := e.follows
	e.follows = nil
	e.guard.Unlock()
	leaveAll(follows)
}

// follower is the place of one event among those that are signalled with another one.
type follower struct {
	of  *Event
	who weak.Pointer[Event]

	// Guarded by of's guard.
	joined         bool
	next, previous *follower
}

// join has who signalled with of from now on, and tells whether of is signalled already.
func (f *follower) join() (signalled bool) {
	f.of.guard.Lock()
	defer f.of.guard.Unlock()
	f.joined, f.next = true, f.of.followers
	if f.next != nil {
		f.next.previous = f
	}
	f.of.followers = f
	return f.of.signalled
}

// leaveAll takes join back for all that are still there.
func leaveAll(follows []*follower) {
	for _, f := range follows {
		f.of.guard.Lock()
		if f.joined {
			f.leave()
		}
		f.of.guard.Unlock()
	}
}

// leave takes f, which has joined, out of the list. The guard must be held.
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

// alive appends to list the followers of e that somebody still has. The guard must be held.
func (e *Event) alive(list []*Event) []*Event {
	for f := e.followers; f != nil; f = f.next {
		if who := f.who.Value(); who != nil {
			list = append(list, who)
		}
	}
	return list
}
