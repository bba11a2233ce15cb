package sched

import (
	"fmt"
	"slices"

	"fiberlab/internal/debug"
	"fiberlab/internal/release"
)

// State says whether a fiber has a task that runs, waits or is ready. The names are marl's; see docs/scheduler.md.
type State uint8

const (
	Idle    State = iota // without a task: in its worker's pool, or a main fiber whose thread runs another one
	Yielded              // blocked in a wait without a deadline
	Waiting              // blocked in a wait with a deadline
	Queued               // ready: a worker will resume it
	Running              // the current fiber of its worker
	states  = iota
)

var stateNames = [states]string{"Idle", "Yielded", "Waiting", "Queued", "Running"}

// String returns the state's name.
func (s State) String() string { return nameOf(stateNames[:], uint8(s), "State") }

// Why is the cause of a transition.
type Why uint8

const (
	WhyCarryOn Why = iota // idle or new, it runs the worker from now on
	WhyResume             // a worker has picked it from a queue
	WhyGoIdle             // it has no task, and another fiber goes on
	WhyWait               // its task waits
	WhyYield              // its task lets others go first
	WhyNotify             // it was notified
	WhyTimeout            // its deadline has passed
	WhyEnd                // it is not needed any more
	whys       = iota
)

var whyNames = [whys]string{"carry on", "resume", "go idle", "wait", "yield", "notify", "timeout", "end"}

// String returns the cause in words.
func (w Why) String() string { return nameOf(whyNames[:], uint8(w), "Why") }

// legal has, for each transition from one state to another, the causes that it may
// have; a transition that has none is a fault of the scheduler.
var legal = [states][states][]Why{
	Idle:    {Running: {WhyCarryOn}},
	Running: {Idle: {WhyGoIdle, WhyEnd}, Yielded: {WhyWait}, Waiting: {WhyWait}, Queued: {WhyYield}},
	Yielded: {Queued: {WhyNotify}},
	Waiting: {Queued: {WhyNotify, WhyTimeout}},
	Queued:  {Running: {WhyResume}},
}

// mayGo reports whether a fiber may go from one state to another because of why.
func mayGo(from, to State, why Why) bool {
	return from < states && to < states && slices.Contains(legal[from][to], why)
}

// word is what a fiber and its wakers change, in one atomic variable. It has the fiber's state, the number of its wait,
// and marks: for example, that the fiber was notified before its registers were saved.
//
// The word says which party owns the fiber's stack. The owner changes the word by a store if no waker may change it:
//
//	Idle                  the worker that has the fiber among its idle ones, or whose main fiber it is
//	Running               the fiber
//	Yielded, Waiting      no party, if the fiber may migrate; else its home. A waker makes it Queued
//	    unpublished       the fiber, or the fiber that its worker has switched to: its registers are not saved yet
//	Queued                the queue that it is in, later the worker that has taken it out
//	    unpublished       the fiber, as above: it called Yield, and is in no queue yet
//
// Wakers do not own the stack. They change the word of a blocked fiber by compare-and-swap: of several that want to end
// one wait, one succeeds. A late one, such as the timer of the wait before, finds another number and does nothing. If
// the fiber is unpublished, a waker leaves the mark notified; publish, or the fiber itself, then makes it Queued. After
// that mark, and in all states but Yielded and Waiting, no waker changes the word.
//
// A fiber with a home is never unpublished while it waits: only the thread that it runs on will enter its stack, after
// the switch.
type word uint64

// The parts of a word, from the lowest bit.
const (
	stateMask   word = 1<<3 - 1
	unpublished word = 1 << 3 // not to be entered yet: its registers are not saved
	notified    word = 1 << 4 // a notification or its deadline came while it was unpublished
	expired     word = 1 << 5 // it was the deadline that ended the wait
	parked      word = 1 << 6 // Park has blocked it, and Unpark may wake it
	oneWait     word = 1 << 7 // the number of the wait is counted in these
)

func (w word) state() State  { return State(w & stateMask) }
func (w word) blocked() bool { s := w.state(); return s == Yielded || s == Waiting }
func (w word) wait() word    { return w &^ (oneWait - 1) }

// in returns the word of the same wait in state s, without any mark, such as unpublished or notified.
func (w word) in(s State) word { return w.wait() | word(s) }

// load returns the fiber's word at this moment.
func (f *Fiber) load() word { return word(f.word.Load()) }

// store puts f into the state of next. The caller owns the stack of f, and no waker may change its word now.
func (f *Fiber) store(next word, why Why) {
	if debug.On || f.record != nil {
		f.checkedStore(next, why)
		return
	}
	release.Store(&f.word, uint64(next))
}

// swap puts f into the state of next and returns true, or returns false if the word of f is no longer old. Any thread
// may call it.
func (f *Fiber) swap(old, next word, why Why) bool {
	if debug.On || f.record != nil {
		return f.checkedSwap(old, next, why)
	}
	return f.mark(old, next)
}

// mark changes the word of f from old to next and returns true, or returns false if the word is no longer old. It
// neither checks nor records a transition: where the state changes, call swap. Any thread may call it.
func (f *Fiber) mark(old, next word) bool { return f.word.CompareAndSwap(uint64(old), uint64(next)) }

// checkedStore is store in debug builds and with a Recorder.
func (f *Fiber) checkedStore(next word, why Why) {
	if old := f.load(); !f.checkedSwap(old, next, why) {
		panic(fmt.Sprintf("sched: %v: another thread has changed its word %#x", f, old))
	}
}

// checkedSwap is swap in debug builds and with a Recorder.
func (f *Fiber) checkedSwap(old, next word, why Why) bool {
	if from, to := old.state(), next.state(); debug.On && !mayGo(from, to, why) {
		panic(fmt.Sprintf("sched: %v: illegal transition %v -> %v (%v)", f, from, to, why))
	}
	if f.record != nil {
		return f.recordChange(old, next, why)
	}
	return f.mark(old, next)
}

// publish lets other workers enter f, whose registers are saved now. If f called Yield or has been notified, publish
// delivers it to a queue. The worker has switched from f to another fiber, which calls publish.
func (f *Fiber) publish() {
	for !f.queueIfNotified() {
		old := f.load() &^ notified // so mark fails if it has been notified since
		if !f.mark(old, old&^unpublished) {
			continue
		}
		if old.blocked() {
			return
		}
		break
	}
	f.deliver()
}

// queueIfNotified makes f Queued if it was notified while it was unpublished, and reports whether it did. The caller
// owns the stack of f. After true, f continues at once if it is the caller; any other caller must deliver f.
func (f *Fiber) queueIfNotified() bool {
	old := f.load()
	switch {
	case old&notified == 0:
		return false
	case old&expired != 0:
		f.store(old.in(Queued)|expired, WhyTimeout)
	default:
		f.store(old.in(Queued), WhyNotify)
	}
	return true
}

// mayGoOn reports whether f, the calling fiber, can continue without a switch. It can if it is unpublished, and
// called Yield or has been notified. If it has been notified, mayGoOn makes it Queued. The worker must still run f.
func (f *Fiber) mayGoOn() bool {
	return f.queueIfNotified() || f.load()&(stateMask|unpublished) == word(Queued)|unpublished
}
