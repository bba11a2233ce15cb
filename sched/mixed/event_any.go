package mixed

import (
	"context"
	"slices"
)

// AnyOf makes an event that is signalled whenever one of events becomes signalled, and at
// once if one of them is: marl's Event::any. A Signal that finds its event not signalled
// has reached the new one, too, when it returns. The events keep what signals they have,
// whoever takes the new one's; and they keep the new event as long as they live. To wait
// for one of several now and then, use WaitAny, which leaves no trace.
func AnyOf(mode EventMode, events ...*Event) *Event {
	either := NewEvent(mode, false)
	either.watch(events)
	return either
}

// WaitAny blocks the caller until one of events is signalled, takes the signal as that
// event's Wait would, and returns the index of the event. If several are signalled, it
// is the first of them. Those who wait for the event alone go first. A signal that
// another takes, or Clear takes back, before the caller has come to look is missed.
// Without events it blocks for ever.
func WaitAny(events ...*Event) int {
	i, _ := waitAny(until{}, events)
	return i
}

// WaitAnyContext is WaitAny that gives up when ctx is over. It returns -1 and the
// context's error then, and has taken no signal.
func WaitAnyContext(ctx context.Context, events ...*Event) (int, error) {
	return waitAny(within(ctx), events)
}

// waitAny watches all events by one of its own, and whenever that is signalled tries to
// take a signal from each; another may have been quicker.
func waitAny(u until, events []*Event) (int, error) {
	if i := testAny(events); i >= 0 {
		return i, nil
	}
	var either Event
	either.watch(events)
	defer either.unwatch(events)
	for {
		if i := testAny(events); i >= 0 {
			return i, nil
		}
		if err := either.wait(u); err != nil {
			return -1, err
		}
	}
}

// testAny takes the first signal that there is, and returns whose it is, or -1.
func testAny(events []*Event) int {
	return slices.IndexFunc(events, (*Event).Test)
}

// watch has e signalled with each of events from now on.
func (e *Event) watch(events []*Event) {
	for _, other := range events {
		other.guard.Lock()
		other.watchers = append(slices.Clip(other.watchers), e)
		signalled := other.signalled
		other.guard.Unlock()
		if signalled {
			e.Signal()
		}
	}
}

// unwatch takes watch back. A Signal that is under way may still come.
func (e *Event) unwatch(events []*Event) {
	for _, other := range events {
		other.guard.Lock()
		other.watchers = slices.DeleteFunc(slices.Clone(other.watchers), func(w *Event) bool { return w == e })
		other.guard.Unlock()
	}
}
