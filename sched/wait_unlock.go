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
	if outer != 0 {
		f.nested.CompareAndSwap(notNested, nestedWait)
	}
	old := f.load()
	if old&notified == 0 && f.swap(old, f.blockedWord(old, deadline), WhyWait) {
		f.startWait(deadline)
		return outer, true
	}
	f.takeMarks()
	f.restore(outer, true)
	return outer, false
}

// What f.nested holds. While a wait or a Yield in an Unlock has taken the marks of the wait around it out of the word, a notification has
// nowhere else to leave its mark for that one.
const (
	notNested   = iota
	nestedWait  // the marks of a wait are taken
	nestedHeard // and f was notified since
)

// takeMarks takes the marks out of the word of f, which is Running, and returns them.
func (f *Fiber) takeMarks() word {
	for {
		old := f.load()
		marks := old & (unpublished | notified)
		if marks == 0 {
			return 0
		}
		f.nested.CompareAndSwap(notNested, nestedWait)
		if f.mark(old, old&^marks) {
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
	f.word.Store(uint64((f.load() + oneWait) | marks)) // a thread in hears shall see that the word is another one
	if f.nested.Swap(notNested) == nestedHeard || wasNotified {
		for old := f.load(); !f.mark(old, old|notified); old = f.load() {
		}
	}
}

// hears notes a notification of f, whose word was old and not one of a wait that it can end, for a wait in whose
// Unlock f is. It returns false if the word has changed meanwhile, and the notifier must look again.
func (f *Fiber) hears(old word) bool {
	switch f.nested.Load() {
	case notNested:
		return f.load() == old
	case nestedWait:
		return f.nested.CompareAndSwap(nestedWait, nestedHeard)
	}
	return true
}
