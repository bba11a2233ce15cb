package sched

import (
	"sync"

	"fiberlab/internal/clock"
)

// A wait releases the caller's lock. The Unlock of a sync.Mutex does nothing else; that of another lock may run any
// code on the fiber that is about to block: it may notify this very fiber, or wait in its turn.

// unlockFirst releases a lock whose Unlock may do anything, even wait, and then blocks f, unless
// a notification has come since. It tells whether f is blocked. Until then f is Running and
// unpublished, so that a notification leaves its mark. outer are the marks of an unlockFirst in whose Unlock
// this one happens.
func (f *Fiber) unlockFirst(lock sync.Locker, deadline clock.Instant) (outer word, blocked bool) {
	outer = f.takeMarks()
	f.word.Store(uint64(f.load() | unpublished))
	lock.Unlock()
	old := f.load()
	if old&notified == 0 && f.swap(old, f.blockedWord(old, deadline), WhyWait) {
		f.startWait(deadline)
		return outer, true
	}
	f.takeMarks()
	f.restore(outer, true)
	return outer, false
}

// takeMarks takes the marks out of the word of f, which is Running, and returns them.
func (f *Fiber) takeMarks() word {
	for {
		old := f.load()
		marks := old & (unpublished | notified)
		if marks == 0 || f.mark(old, old&^marks) {
			return marks
		}
	}
}

// restore puts marks back that takeMarks has taken. A notification that has come meanwhile counts for
// the outer wait too.
func (f *Fiber) restore(marks word, wasNotified bool) {
	if marks == 0 {
		return
	}
	if wasNotified {
		marks |= notified
	}
	f.word.Store(uint64(f.load() | marks))
}
