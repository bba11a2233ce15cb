package sched

import (
	"fmt"

	"fiberlab/internal/debug"
)

// State is where a fiber stands. The names are marl's; docs/scheduler.md has the picture.
type State uint8

const (
	Idle    State = iota // without a task: in its worker's pool, or the main fiber during Unbind
	Yielded              // blocked in a wait without deadline
	Waiting              // blocked in a wait with a deadline
	Queued               // in its worker's queue of fibers that are to run
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
	WhyCarry   Why = iota // idle or new, it carries the worker on since another one cannot
	WhyResume             // it is this queued fiber's turn
	WhyGiveWay            // it has no task, and another fiber goes on
	WhyWait               // its task waits
	WhyYield              // its task lets others go first
	WhyNotify             // somebody notified it
	WhyTimeout            // its deadline has passed
	WhyEnd                // it is not needed any more
	whys       = iota
)

var whyNames = [whys]string{"carry on", "resume", "give way", "wait", "yield", "notify", "timeout", "end"}

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
	Idle:    {Running: because(WhyCarry)},
	Running: {Idle: because(WhyGiveWay, WhyEnd), Yielded: because(WhyWait), Waiting: because(WhyWait), Queued: because(WhyYield)},
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

// mayGo tells whether a fiber may go from one state to another because of why.
func mayGo(from, to State, why Why) bool {
	return from < states && to < states && why < whys && legal[from][to]&(1<<why) != 0
}

// change puts f, a fiber of w, into another state. The worker's lock must be held.
func (w *Worker) change(f *Fiber, to State, why Why) {
	if debug.On {
		w.work.mustHold("change of state")
		if !mayGo(f.state, to, why) {
			panic(fmt.Sprintf("sched: %v: illegal transition %v -> %v (%v)", f, f.state, to, why))
		}
	}
	if w.recording != nil {
		w.recording.add(f.id, f.state, to, why, w.notifier(why), f.awaits)
	}
	if to == Running {
		w.work.counts.switches++
	}
	f.state = to
}

// notifier is who causes a transition because of why, if that is WhyNotify.
func (w *Worker) notifier(why Why) Notifier {
	if why == WhyNotify {
		if f := Current(); f != nil && f.worker.scheduler == w.scheduler {
			return Notifier{f.worker.id, f.id}
		}
	}
	return Notifier{-1, 0}
}
