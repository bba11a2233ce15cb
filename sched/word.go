package sched

import (
	"fmt"

	"fiberlab/internal/debug"
	"fiberlab/internal/release"
)

// word is all that others may change of a fiber, in one atomic variable: its state, what has happened to it
// before it could be resumed, and the number of its wait.
//
// As long as the state is Idle, Running or Queued and the word is published, only the worker that runs the fiber, or
// has taken it to run it, changes the word, by a store. Any thread may change any other word, by
// compare-and-swap: of several that want to end one wait, one succeeds. What comes late, like
// a timer of the wait before, finds another number and misses.
type word uint64

// The parts of a word, from the lowest bit.
const (
	stateMask   word = 1<<3 - 1
	unpublished word = 1 << 3 // not to be resumed yet: its registers are not saved, or it is about to block
	notified    word = 1 << 4 // a notification or its deadline came while it was unpublished
	expired     word = 1 << 5 // it was the deadline that ended the wait
	parked      word = 1 << 6 // Park has blocked it, and Unpark may wake it
	oneWait     word = 1 << 7 // the number of the wait is counted in these
)

func (w word) state() State  { return State(w & stateMask) }
func (w word) blocked() bool { s := w.state(); return s == Yielded || s == Waiting }
func (w word) wait() word    { return w &^ (oneWait - 1) }

// in returns the word of the same wait in another state, without what happened before.
func (w word) in(s State) word { return w.wait() | word(s) }

// load returns the fiber's word at this moment.
func (f *Fiber) load() word { return word(f.word.Load()) }

// store puts f into the state of next. Only the thread that runs f, or has taken it to
// run it, may call it.
func (f *Fiber) store(next word, why Why) {
	if debug.On || f.record != nil {
		f.checkedStore(next, why)
		return
	}
	release.Store(&f.word, uint64(next))
}

// checkedStore is store in debug builds and with a Recorder.
func (f *Fiber) checkedStore(next word, why Why) {
	old := f.load()
	f.mustBeLegal(old, next, why)
	if f.record != nil {
		f.record.change(f, old, next, why)
		return
	}
	release.Store(&f.word, uint64(next))
}

// swap puts f into the state of next, unless its word has changed since it was old. It tells
// whether it did. Any thread may call it.
func (f *Fiber) swap(old, next word, why Why) bool {
	if debug.On || f.record != nil {
		return f.checkedSwap(old, next, why)
	}
	return f.word.CompareAndSwap(uint64(old), uint64(next))
}

// checkedSwap is swap in debug builds and with a Recorder.
func (f *Fiber) checkedSwap(old, next word, why Why) bool {
	f.mustBeLegal(old, next, why)
	if f.record != nil {
		return f.record.change(f, old, next, why)
	}
	return f.word.CompareAndSwap(uint64(old), uint64(next))
}

// mark is swap where the state stays the same.
func (f *Fiber) mark(old, next word) bool { return f.word.CompareAndSwap(uint64(old), uint64(next)) }

// mustBeLegal panics in debug builds if a transition is illegal.
func (f *Fiber) mustBeLegal(old, next word, why Why) {
	if !debug.On {
		return
	}
	if from, to := old.state(), next.state(); !mayGo(from, to, why) {
		panic(fmt.Sprintf("sched: %v: illegal transition %v -> %v (%v)", f, from, to, why))
	}
}
