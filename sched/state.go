package sched

import (
	"fmt"

	"fiberlab/internal/debug"
	"fiberlab/internal/release"
)

// State is where a fiber stands. The names are marl's; docs/scheduler.md has the picture.
type State uint8

const (
	Idle    State = iota // without a task: in its worker's pool, or a main fiber whose thread runs another one
	Yielded              // blocked in a wait without a deadline
	Waiting              // blocked in a wait with a deadline
	Queued               // ready: it waits for its turn
	Running              // the current fiber of its worker
	states  = iota
)

var stateNames = [states]string{"Idle", "Yielded", "Waiting", "Queued", "Running"}

// String returns the state's name.
func (s State) String() string {
	if s < states {
		return stateNames[s]
	}
	return fmt.Sprintf("State(%d)", uint8(s))
}

// Why is the cause of a transition.
type Why uint8

const (
	WhyCarryOn Why = iota // idle or new, it carries the worker on
	WhyResume             // it is this queued fiber's turn
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
func (w Why) String() string {
	if w < whys {
		return whyNames[w]
	}
	return fmt.Sprintf("Why(%d)", uint8(w))
}

// legal has, for each transition from one state to another, the causes that it may
// have; a transition that has none is a fault of the scheduler.
var legal = [states][states]causes{
	Idle: {Running: because(WhyCarryOn)},
	Running: {
		Idle: because(WhyGoIdle, WhyEnd), Yielded: because(WhyWait), Waiting: because(WhyWait),
		Queued: because(WhyYield),
	},
	Yielded: {Queued: because(WhyNotify)},
	Waiting: {Queued: because(WhyNotify, WhyTimeout)},
	Queued:  {Running: because(WhyResume)},
}

// causes is a set of Why.
type causes uint16

func because(list ...Why) causes {
	var set causes
	for _, why := range list {
		set |= 1 << why
	}
	return set
}

// mayGo reports whether a fiber may go from one state to another because of why.
func mayGo(from, to State, why Why) bool {
	return from < states && to < states && why < whys && legal[from][to]&(1<<why) != 0
}

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
	unpublished word = 1 << 3 // not to be resumed yet: its registers are not saved
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

// A fiber that may migrate is unpublished from the moment when it blocks or yields until its registers are saved.

// publish lets other workers resume f, whose registers are saved now. If it has yielded, or has been
// woken meanwhile, it is put where it will be run.
func (f *Fiber) publish() {
	for {
		old := f.load()
		switch {
		case old&notified != 0:
			if next, why := old.woken(); f.swap(old, next, why) {
				f.deliver()
				return
			}
		case f.mark(old, old&^(unpublished|expired)):
			if old.state() == Queued {
				f.deliver()
			}
			return
		}
	}
}

// recalled makes f Queued if it has been woken while it was unpublished, and reports whether it did. The worker that
// runs f has not left it yet, so f can go on at once, if nothing else is to run.
func (f *Fiber) recalled() bool {
	old := f.load()
	if old&notified == 0 || !old.blocked() {
		return false
	}
	next, why := old.woken()
	f.store(next, why) // only this thread changes a word that is marked
	return true
}

// woken is the word that follows w, which was notified while it was unpublished, and why.
func (w word) woken() (word, Why) {
	if w&expired != 0 {
		return w.in(Queued) | expired, WhyTimeout
	}
	return w.in(Queued), WhyNotify
}

// mayStay reports whether f, the calling fiber, which its worker has not left yet, may go on if nothing else is to run:
// it has been woken, or has only yielded.
func (f *Fiber) mayStay() bool {
	if f.recalled() {
		return true
	}
	old := f.load()
	return old.state() == Queued && old&unpublished != 0
}
