package fibersync

import "fiberlab/internal/spinlock"

// line is those who wait for one thing, in the order of their coming. The zero value is
// empty. The guard of what it belongs to guards it.
type line struct {
	first, last *waiter
	length      int
}

func (l *line) empty() bool { return l.first == nil }

// push puts w, which is in no line, at the end.
func (l *line) push(w *waiter) {
	l.length++
	w.line, w.previous, w.next = l, l.last, nil
	if l.last != nil {
		l.last.next = w
	} else {
		l.first = w
	}
	l.last = w
}

// pushFront puts w, which is in no line, before all others.
func (l *line) pushFront(w *waiter) {
	l.length++
	w.line, w.previous, w.next = l, nil, l.first
	if l.first != nil {
		l.first.previous = w
	} else {
		l.last = w
	}
	l.first = w
}

// remove takes w out, and tells whether it was in this line.
func (l *line) remove(w *waiter) bool {
	if w.line != l {
		return false
	}
	l.length--
	if w.previous != nil {
		w.previous.next = w.next
	} else {
		l.first = w.next
	}
	if w.next != nil {
		w.next.previous = w.previous
	} else {
		l.last = w.previous
	}
	w.line, w.next, w.previous = nil, nil, nil
	return true
}

// pop takes out who has waited longest, or returns nil.
func (l *line) pop() *waiter {
	w := l.first
	if w != nil {
		l.remove(w)
	}
	return w
}

// takeAll empties the line, and returns the first of those who stood in it, each of
// whom has the next; see grantAll.
func (l *line) takeAll() *waiter { return l.takeUntil(nil) }

// takeUntil is takeAll for those who stand before end; if that is nil, for all.
func (l *line) takeUntil(end *waiter) *waiter {
	first, last := l.first, l.last
	if first == end {
		return nil
	}
	if end != nil {
		last, end.previous = end.previous, nil
	} else {
		l.last = nil
	}
	l.first, last.next = end, nil
	for w := first; w != nil; w = w.next {
		w.line = nil
		l.length--
	}
	return first
}

// grantAll grants all whom takeAll has returned. The guard is better not held.
func grantAll(first *waiter) {
	for w := first; w != nil; {
		next := w.next // w may be in another line once it is granted
		w.grant()
		w = next
	}
}

// wait puts the caller at the end of the line and parks it until it is granted, or until
// u is over. guard must be held; it is released as soon as the caller stands in line.
//
// wait returns u's error if the caller has left the line without a grant. Who is
// granted at the last moment has been granted: wait returns nil then.
func (l *line) wait(guard *spinlock.Lock, u until) error {
	w := newWaiter()
	err := l.waitAs(w, guard, u)
	w.free()
	return err
}

// waitAs is wait with a waiter that the caller has begun.
func (l *line) waitAs(w *waiter, guard *spinlock.Lock, u until) error {
	l.push(w)
	guard.Unlock()
	return l.stay(guard, w, u)
}

// stay is the later part of wait, for a w that stands in line, or has been taken out of
// it to be granted. guard must not be held.
func (l *line) stay(guard *spinlock.Lock, w *waiter, u until) error {
	err := w.await(u)
	if err != nil {
		guard.Lock()
		left := l.remove(w)
		guard.Unlock()
		if !left {
			err = w.await(until{}) // somebody is about to grant it
		}
	}
	return err
}
