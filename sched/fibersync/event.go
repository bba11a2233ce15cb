package fibersync

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fiberlab/internal/spinlock"
)

// ErrMode is the error of an event that is neither AutoReset nor ManualReset.
var ErrMode = errors.New("no mode of an event: give AutoReset or ManualReset")

// EventMode says what becomes of a signal when somebody has waited for it.
type EventMode uint8

// The modes of events, marl's Auto and Manual.
const (
	AutoReset   EventMode = iota // one wait takes the signal, and clears the event
	ManualReset                  // the event stays signalled until Clear
)

// Event is signalled or not, and can be waited for: marl's Event. Unlike a [Cond] it
// keeps its signal for who comes later; it keeps one, not a number of them. The zero
// value is an AutoReset event that is not signalled. It must not be copied.
type Event struct {
	guard     spinlock.Lock
	mode      EventMode
	signalled bool // and if so, the line is empty
	line      line // also of the places of those who wait for any of several events

	followers *follower   // the first of the events to be signalled with this one
	follows   []*follower // this event's places among those of others
}

// NewEvent makes an event that is signalled at first or is not. It panics with an error
// that wraps ErrMode if there is no such mode.
func NewEvent(mode EventMode, signalled bool) *Event {
	if mode > ManualReset {
		panic(fmt.Errorf("fibersync: new event of mode %d: %w", mode, ErrMode))
	}
	return &Event{mode: mode, signalled: signalled}
}

// Signal signals the event. If it is AutoReset and somebody waits, the one who has waited
// longest takes the signal at once, and the event stays as it is. If it is
// ManualReset, all who wait go on, even if Clear follows immediately. Signal does
// nothing to an event that is signalled, and does not block.
func (e *Event) Signal() {
	e.guard.Lock()
	if e.signalled {
		e.guard.Unlock()
		return
	}
	var takers *waiter
	if e.mode == ManualReset {
		takers = e.claimAll()
		e.signalled = true
	} else {
		takers = e.claim()
		e.signalled = takers == nil
	}
	var few [8]*Event
	followers := few[:0]
	if e.followers != nil {
		followers = e.alive(followers)
	}
	e.guard.Unlock()
	grantTakers(takers)
	for _, f := range followers {
		f.Signal()
	}
}

// Clear takes a signal back that nobody has taken. It does not block.
func (e *Event) Clear() {
	e.guard.Lock()
	e.signalled = false
	e.guard.Unlock()
}

// Test takes the signal as Wait does, if there is one, and tells whether there was. It
// does not block.
func (e *Event) Test() bool {
	e.guard.Lock()
	defer e.guard.Unlock()
	return e.take()
}

// IsSignalled tells whether the event is signalled, and leaves it so. It does not block.
func (e *Event) IsSignalled() bool {
	e.guard.Lock()
	defer e.guard.Unlock()
	return e.signalled
}

// Wait blocks the caller until the event is signalled, and takes the signal if the event
// is AutoReset. Those who wait take signals in the order of their coming.
func (e *Event) Wait() { _ = e.wait(until{}) }

// WaitContext is Wait that gives up when ctx is over, and returns its error then. A
// signal that comes at the same moment is either taken, and WaitContext returns nil, or
// stays for others.
func (e *Event) WaitContext(ctx context.Context) error { return e.wait(within(ctx)) }

// WaitFor is Wait for no longer than d, and tells whether there was a signal: marl's
// wait_for.
func (e *Event) WaitFor(d time.Duration) bool { return e.WaitUntil(time.Now().Add(d)) }

// WaitUntil is Wait for no longer than to deadline, and tells whether there was a
// signal: marl's wait_until.
func (e *Event) WaitUntil(deadline time.Time) bool {
	return e.wait(by(deadline)) == nil
}

func (e *Event) wait(u until) error {
	e.guard.Lock()
	if e.take() {
		e.guard.Unlock()
		return nil
	}
	return e.line.wait(&e.guard, u)
}

// take takes the signal, and tells whether there was one. The guard must be held.
func (e *Event) take() bool {
	was := e.signalled
	if e.mode == AutoReset {
		e.signalled = false
	}
	return was
}
