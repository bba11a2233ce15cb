package fibersync

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fiberlab/internal/spinlock"
)

// ErrMode is the error of an event whose mode is neither AutoReset nor ManualReset.
var ErrMode = errors.New("there is no such mode of events: give AutoReset or ManualReset")

// EventMode says whether a wait consumes the signal.
type EventMode uint8

// The modes of events, marl's Auto and Manual.
const (
	AutoReset   EventMode = iota // one wait takes the signal, and clears the event
	ManualReset                  // the event stays signalled until Clear
)

// Event is signalled or not, and can be waited for: marl's Event. Unlike a [Cond] it keeps its
// signal for later waiters; it keeps one signal and does not count them. The zero value is an
// AutoReset event that is not signalled. It must not be copied.
type Event struct {
	mu        spinlock.Lock
	mode      EventMode
	signalled bool      // if it is set, the queue is empty
	waiters   waitQueue // also the entries of waiters for any of several events

	done chan struct{} // see Done
}

// NewEvent returns an event that is signalled at first or is not. It panics with an error that
// wraps ErrMode if there is no such mode.
func NewEvent(mode EventMode, signalled bool) *Event {
	if mode > ManualReset {
		panic(fmt.Errorf("fibersync: new event of mode %d: %w", mode, ErrMode))
	}
	return &Event{mode: mode, signalled: signalled}
}

// Signal signals the event. If it is AutoReset and has waiters, the caller that has waited longest
// takes the signal at once, and the event stays as it is. If it is ManualReset, all waiters go
// on, even if Clear follows immediately. If the event is signalled already, Signal does
// nothing. It does not block.
func (e *Event) Signal() {
	e.mu.Lock()
	if e.signalled {
		e.mu.Unlock()
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
	done := e.done
	e.done = nil
	e.mu.Unlock()
	handOffTakers(takers)
	closeDone(done)
}

// Clear takes back a signal that no wait has taken. It does not block.
func (e *Event) Clear() {
	e.mu.Lock()
	e.signalled = false
	e.mu.Unlock()
}

// Test takes the signal as Wait does, if there is one, and reports whether there was. A signal that has been
// handed off to a waiter is not there, even if the waiter has not run yet. It does not block.
func (e *Event) Test() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.take()
}

// IsSignalled reports whether the event is signalled, and leaves it so. It does not block.
func (e *Event) IsSignalled() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.signalled
}

// Done returns a channel that is closed by the next Signal that finds the event not signalled; a
// closed one if the event is signalled now. It is for goroutines that select. It takes no
// signal: Test does, and finds none if another caller was faster. A fiber calls Wait: receiving
// from the channel would block its thread.
func (e *Event) Done() <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	return doneChannel(&e.done, e.signalled)
}

// Wait blocks the caller until the event is signalled, and takes the signal if the event is
// AutoReset. Waiters take signals in the order of their arrival.
func (e *Event) Wait() { _ = e.wait(until{}) }

// WaitContext is Wait that gives up when ctx is done, and returns context.Cause(ctx) then. A
// signal that comes at the same moment is either taken, and WaitContext returns nil, or it
// stays for others.
func (e *Event) WaitContext(ctx context.Context) error { return e.wait(within(ctx)) }

// WaitFor is Wait for at most d, and reports whether there was a signal: marl's wait_for.
func (e *Event) WaitFor(d time.Duration) bool { return e.WaitUntil(time.Now().Add(d)) }

// WaitUntil is Wait until deadline at the latest, and reports whether there was a signal: marl's
// wait_until.
func (e *Event) WaitUntil(deadline time.Time) bool {
	return e.wait(by(deadline)) == nil
}

func (e *Event) wait(u until) error {
	e.mu.Lock()
	if e.take() {
		e.mu.Unlock()
		return nil
	}
	return e.waiters.wait(&e.mu, u)
}

// take takes the signal, and reports whether there was one. The caller holds mu.
func (e *Event) take() bool {
	was := e.signalled
	if e.mode == AutoReset {
		e.signalled = false
	}
	return was
}
