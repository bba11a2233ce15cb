package fibersync

import "fiberlab/internal/spinlock"

// waitQueue holds the waiters of one primitive, in the order of their arrival. The zero value
// is empty. The mu of the primitive guards it.
type waitQueue struct {
	first, last *waiter
	length      int
}

func (q *waitQueue) empty() bool { return q.first == nil }

// push appends w, which is in no queue.
func (q *waitQueue) push(w *waiter) {
	q.length++
	w.in, w.previous, w.next = q, q.last, nil
	if q.last != nil {
		q.last.next = w
	} else {
		q.first = w
	}
	q.last = w
}

// pushFront puts w, which is in no queue, before all others.
func (q *waitQueue) pushFront(w *waiter) {
	q.length++
	w.in, w.previous, w.next = q, nil, q.first
	if q.first != nil {
		q.first.previous = w
	} else {
		q.last = w
	}
	q.first = w
}

// remove takes w out, and reports whether it was in this queue.
func (q *waitQueue) remove(w *waiter) bool {
	if w.in != q {
		return false
	}
	q.length--
	if w.previous != nil {
		w.previous.next = w.next
	} else {
		q.first = w.next
	}
	if w.next != nil {
		w.next.previous = w.previous
	} else {
		q.last = w.previous
	}
	w.in, w.next, w.previous = nil, nil, nil
	return true
}

// pop takes out the waiter that has waited longest, or returns nil.
func (q *waitQueue) pop() *waiter {
	w := q.first
	if w != nil {
		q.remove(w)
	}
	return w
}

// takeAll empties the queue and returns the first waiter, which links to the others by next;
// see handOffAll.
func (q *waitQueue) takeAll() *waiter { return q.takeUntil(nil) }

// takeUntil is takeAll for the waiters before end; nil: for all.
func (q *waitQueue) takeUntil(end *waiter) *waiter {
	first, last := q.first, q.last
	if first == end {
		return nil
	}
	if end != nil {
		last, end.previous = end.previous, nil
	} else {
		q.last = nil
	}
	q.first, last.next = end, nil
	for w := first; w != nil; w = w.next {
		w.in = nil
		q.length--
	}
	return first
}

// handOffAll hands off all waiters of a list that takeAll has returned. The caller should hold
// no mu.
func handOffAll(first *waiter) {
	for w := first; w != nil; {
		next := w.next // w may be in another queue once it is handed off
		w.handOff()
		w = next
	}
}

// wait appends the caller to the queue and parks it until it is handed off, or until u has
// ended. The caller holds mu; wait releases it as soon as the caller is in the queue.
//
// wait returns u's error if the caller has left the queue without a hand-off. A hand-off that
// comes at the last moment counts: wait returns nil then.
func (q *waitQueue) wait(mu *spinlock.Lock, u until) error {
	w := newWaiter(mu)
	err := q.waitAs(w, mu, u)
	w.free()
	return err
}

// waitAs is wait with a waiter that the caller has made.
func (q *waitQueue) waitAs(w *waiter, mu *spinlock.Lock, u until) error {
	q.push(w)
	mu.Unlock()
	return q.awaitOrLeave(mu, w, u)
}

// awaitOrLeave is the later part of wait, for a waiter that is in the queue, or that has been
// taken out to be handed off. The caller does not hold mu.
func (q *waitQueue) awaitOrLeave(mu *spinlock.Lock, w *waiter, u until) error {
	err := w.await(u)
	if err != nil {
		mu.Lock()
		left := q.remove(w)
		mu.Unlock()
		if !left {
			err = w.await(until{}) // it has been taken out, and its hand-off is under way
		}
	}
	return err
}
