package sched

import (
	"fmt"
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
	Idle:    {Running: because(WhyCarryOn)},
	Running: {Idle: because(WhyGoIdle, WhyEnd), Yielded: because(WhyWait), Waiting: because(WhyWait), Queued: because(WhyYield)},
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
