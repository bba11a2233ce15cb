package sched

import (
	"fmt"
	"os"
	"time"

	"fiberlab/internal/clock"
)

// overloadEvery is how long a room must have been full before Config.Overloaded is told, and the least time between two
// reports.
const overloadEvery = time.Second

// overload is what a room needs to tell that it stays full. The room's mu guards it.
//
// No thread waits for the moment to tell: a timer of the Go runtime looks at the room. A caller that has to wait sets the timer
// if it is not set. After each look it is set again if callers wait.
type overload struct {
	tell    func(waiting int, since time.Duration)
	every   time.Duration // overloadEvery; tests change it
	full    bool          // there has been no free place since a caller began to wait
	since   clock.Instant // when that was
	set     bool          // the timer is set
	due     clock.Instant // when it looks, if it is set
	telling bool          // tell is being called
}

// begin notes that a caller waits from now on. It tells whether that caller must set the timer. The room's mu must be held.
func (o *overload) begin(now clock.Instant) (set bool) {
	if !o.full {
		o.full, o.since = true, now
	}
	// A timer that is far from due may never look: it was set in a bubble of testing/synctest, which has another clock.
	every := clock.Instant(o.every)
	if o.set && o.due-every <= now && now <= o.due+every {
		return false
	}
	o.set, o.due = true, now+every
	return true
}

// look tells of the overload if the room has been full for long enough, and sets the timer again if callers wait.
func (r *room) look() {
	o, now := &r.overload, clock.Now()
	r.mu.Lock()
	if o.telling || now < o.due {
		r.mu.Unlock()
		return // another timer is set
	}
	waiting, full, next := int(r.waiting.Load()), time.Duration(now-o.since), o.every
	switch {
	case waiting == 0:
		o.set = false
		r.mu.Unlock()
		return
	case full < o.every:
		next -= full
	default:
		o.telling = true
		r.mu.Unlock()
		o.tell(waiting, full)
		r.mu.Lock()
		o.telling = false
	}
	o.due = clock.Now() + clock.Instant(next)
	r.mu.Unlock()
	time.AfterFunc(next, r.look)
}

// reportOverload returns the function that takes the place of Config.Overloaded: it writes a line to stderr.
func reportOverload(cfg *Config) func(waiting int, since time.Duration) {
	name, most := cfg.Name, cfg.MaxQueued
	return func(waiting int, since time.Duration) {
		fmt.Fprintf(os.Stderr, "fiberlab: %s has been full for %v: %d callers wait to enqueue a task, and %d tasks wait to begin "+
			"(Config.MaxQueued): enqueue fewer tasks at a time, or configure more room or more workers\n",
			name, since.Round(time.Millisecond), waiting, most)
	}
}
