package fibersync

import (
	"context"
	"errors"
	"fmt"

	"fiberlab/internal/spinlock"
)

// ErrDone is the error of a ticket that is given back twice.
var ErrDone = errors.New("the ticket was given back already: take another one")

// TicketQueue hands out tickets and calls them one at a time, in the order in which they were taken:
// each when the one before it is done; marl's Ticket::Queue. The zero value has handed out
// none. It must not be copied.
type TicketQueue struct {
	mu          spinlock.Lock
	first, last *Ticket   // first has been called, the others have not
	taken       uint64    // how many tickets have been taken
	toHandOff   waitQueue // whose wait Done ends; empty while mu is not held
}

// Ticket is a position in a TicketQueue; marl's Ticket. Its owner must call Done in the end, whether the
// ticket was called or not: until then no later ticket is called.
type Ticket struct {
	queue *TicketQueue

	// The queue's mu guards these.
	next         *Ticket
	number       uint64 // in the order in which tickets were taken
	called, done bool
	waiters      waitQueue
	calls        []func()      // to be started when the ticket is called
	calledC      chan struct{} // see Called
}

// Take returns a new ticket, behind all others. It does not block. The ticket is called
// at once if all others are done.
func (q *TicketQueue) Take() *Ticket {
	t := &Ticket{queue: q}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.taken++
	t.number = q.taken
	if q.first == nil {
		q.first, t.called = t, true
	} else {
		q.last.next = t
	}
	q.last = t
	return t
}

// Wait blocks the caller until the ticket has been called. Any number of callers may wait.
func (t *Ticket) Wait() { _ = t.wait(until{}) }

// WaitContext is Wait that gives up when ctx is done, and returns context.Cause(ctx) then. The
// ticket keeps its position: it will be called, and Done must still be called. If the ticket has
// been called already, the error is nil even if ctx is done.
func (t *Ticket) WaitContext(ctx context.Context) error { return t.wait(within(ctx)) }

func (t *Ticket) wait(u until) error {
	t.queue.mu.Lock()
	if t.called {
		t.queue.mu.Unlock()
		return nil
	}
	return t.waiters.wait(&t.queue.mu, u)
}

// Called returns a channel that is closed when the ticket is called, for goroutines that select. A
// fiber calls Wait: receiving from the channel would block its thread.
func (t *Ticket) Called() <-chan struct{} {
	t.queue.mu.Lock()
	defer t.queue.mu.Unlock()
	return doneChannel(&t.calledC, t.called)
}

// OnCall has f started when the ticket is called, by the caller of Done that calls it, or by the caller
// of OnCall if the ticket has been called already. f is a task of that caller's scheduler, or a
// goroutine if there is none or it accepts no task. Neither OnCall nor Done blocks for it: the task is queued even if
// sched.Config.MaxQueued tasks wait to begin. f, or code that it starts, calls Done. f is not started if the ticket has
// been given back. OnCall panics with an error that wraps ErrNilFunc if f is nil.
func (t *Ticket) OnCall(f func()) {
	if f == nil {
		panic(fmt.Errorf("fibersync: on the call of a ticket: %w", ErrNilFunc))
	}
	t.queue.mu.Lock()
	now := t.called && !t.done
	if !t.called && !t.done {
		t.calls = append(t.calls, f)
	}
	t.queue.mu.Unlock()
	if now {
		startAnywhere(f)
	}
}

// Done gives the ticket back. If it has been called, the next one is called now. If not, the queue skips it when its
// turn comes: its waits end then, and no function of OnCall is started. Done does not block. Any fiber or
// goroutine may call it, once: the second time it panics with an error that wraps ErrDone.
func (t *Ticket) Done() {
	q := t.queue
	q.mu.Lock()
	if t.done {
		q.mu.Unlock()
		panic(fmt.Errorf("fibersync: done with a ticket: %w", ErrDone))
	}
	t.done, t.calls = true, nil
	// Tickets that are taken from now on are left to their own calls of Done.
	for last := q.taken; q.skipDone(last); {
		q.mu.Lock()
	}
}

// mostSkipped is how many tickets are skipped with mu held at a time.
const mostSkipped = 64

// skipDone takes tickets that are done from the head of the queue, up to that number, and calls those behind
// them. It reports whether there may be more. The caller holds mu; skipDone releases it.
func (q *TicketQueue) skipDone(last uint64) (more bool) {
	var calls []func()
	var channels []chan struct{}
	skipped := 0
	for ; skipped < mostSkipped && q.first != nil && q.first.done && q.first.number <= last; skipped++ {
		next := q.first.next
		q.first.next, q.first = nil, next
		if next == nil {
			q.last = nil
			break
		}
		next.called = true
		for w := next.waiters.pop(); w != nil; w = next.waiters.pop() {
			q.toHandOff.push(w)
		}
		calls = append(calls, next.calls...)
		if next.calledC != nil {
			channels = append(channels, next.calledC)
		}
		next.calls = nil
	}
	waiters := q.toHandOff.takeAll()
	q.mu.Unlock()
	handOffAll(waiters)
	for _, c := range channels {
		close(c)
	}
	for _, f := range calls {
		startAnywhere(f)
	}
	return skipped == mostSkipped
}
