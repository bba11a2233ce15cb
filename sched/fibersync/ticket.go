package fibersync

import (
	"context"
	"errors"
	"fmt"

	"fiberlab/internal/spinlock"
)

// ErrDone is the error of a ticket that is given back twice.
var ErrDone = errors.New("the ticket is done: take another one")

// TicketQueue hands out tickets, and calls them in the order in which they were taken, one
// at a time: each when the one before it is done; marl's Ticket::Queue. The zero value is
// a queue that has handed out none. It must not be copied.
type TicketQueue struct {
	guard       spinlock.Lock
	first, last *Ticket // first has been called, the others have not
	told        line    // whom Done is about to grant; empty while guard is not held
}

// Ticket is a place in a TicketQueue; marl's Ticket. Whoever has it must call Done some
// day, called or not, for nobody behind it is called before.
type Ticket struct {
	queue *TicketQueue

	// Guarded by the queue's guard.
	next         *Ticket
	called, done bool
	line         line     // those who wait for its call
	calls        []func() // what is to be started when it is called
}

// Take returns the ticket behind all that have been taken. It does not block. The ticket
// is called at once if all those are done.
func (q *TicketQueue) Take() *Ticket {
	t := &Ticket{queue: q}
	q.guard.Lock()
	defer q.guard.Unlock()
	if q.first == nil {
		q.first, t.called = t, true
	} else {
		q.last.next = t
	}
	q.last = t
	return t
}

// Wait blocks the caller until the ticket has been called. Any number may wait for it.
func (t *Ticket) Wait() { _ = t.wait(until{}) }

// WaitContext is Wait that gives up when ctx is over, and returns its error then. The
// ticket keeps its place: it will be called, and Done must still be called. A ticket that
// has been called by then gives nil, whatever ctx says.
func (t *Ticket) WaitContext(ctx context.Context) error { return t.wait(within(ctx)) }

func (t *Ticket) wait(u until) error {
	t.queue.guard.Lock()
	if t.called {
		t.queue.guard.Unlock()
		return nil
	}
	return t.line.wait(&t.queue.guard, u)
}

// OnCall has f started when the ticket is called, as a task or on a goroutine: beside
// whoever calls Done of the one before it, or beside the caller if the ticket has been
// called already. If that one's scheduler cannot start it, it runs on a goroutine. It does
// not block. f, or somebody after it, calls Done. OnCall panics with an error that wraps
// ErrNilFunc if f is nil.
func (t *Ticket) OnCall(f func()) {
	if f == nil {
		panic(fmt.Errorf("fibersync: on the call of a ticket: %w", ErrNilFunc))
	}
	t.queue.guard.Lock()
	called := t.called
	if !called {
		t.calls = append(t.calls, f)
	}
	t.queue.guard.Unlock()
	if called {
		beginAnywhere(f)
	}
}

// Done gives the ticket back. If it has been called, the next one is called now, else the
// queue will pass over it. It does not block. It may be called by anybody, once:
// it panics with an error that wraps ErrDone the second time.
func (t *Ticket) Done() {
	q := t.queue
	q.guard.Lock()
	if t.done {
		q.guard.Unlock()
		panic(fmt.Errorf("fibersync: done with a ticket: %w", ErrDone))
	}
	t.done = true
	for q.pass() {
		q.guard.Lock()
	}
}

// mostPassed is how many tickets are passed over at a time: others want the guard meanwhile.
const mostPassed = 64

// pass takes tickets that are done out of the head of the queue and calls those behind
// them, and tells whether there may be more to be taken out. The guard must be held; pass
// releases it.
func (q *TicketQueue) pass() (more bool) {
	var calls []func()
	passed := 0
	for ; passed < mostPassed && q.first != nil && q.first.done; passed++ {
		next := q.first.next
		q.first.next, q.first = nil, next
		if next == nil {
			q.last = nil
			break
		}
		next.called = true
		for w := next.line.pop(); w != nil; w = next.line.pop() {
			q.told.push(w)
		}
		calls = append(calls, next.calls...)
		next.calls = nil
	}
	waiters := q.told.takeAll()
	q.guard.Unlock()
	grantAll(waiters)
	for _, f := range calls {
		beginAnywhere(f)
	}
	return passed == mostPassed
}
