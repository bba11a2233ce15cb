package forkjoin

import (
	"fmt"
	"strings"

	"fiberlab/internal/fault"
)

// Form is how a pool keeps the tasks that have been forked and not begun.
type Form int

const (
	// Heartbeat keeps them where only the stack that forked them can touch them, and hands out the oldest one each Config.Beat
	// if a worker has nothing to do. A fork costs a few nanoseconds.
	Heartbeat Form = iota
	// Deque keeps them in a double-ended queue for each stack. Other workers steal the oldest one.
	Deque
	// Locked keeps them in one list under one lock, which is the simplest form.
	Locked
)

// Forms returns all forms.
func Forms() []Form { return []Form{Heartbeat, Deque, Locked} }

var formNames = [...]string{Heartbeat: "heartbeat", Deque: "deque", Locked: "locked"}

// String returns the form's name, as ParseForm reads it.
func (f Form) String() string {
	if f < 0 || int(f) >= len(formNames) {
		return fmt.Sprintf("Form(%d)", int(f))
	}
	return formNames[f]
}

// ParseForm returns the form that has the name, or an error that wraps ErrNoForm and names them all.
func ParseForm(name string) (Form, error) {
	for f, n := range formNames {
		if n == name {
			return Form(f), nil
		}
	}
	return 0, fault.Of(ErrNoForm, fmt.Sprintf("forkjoin: no form %q: choose one of %s", name, strings.Join(formNames[:], ", ")))
}

// form is where the jobs of a pool wait. All methods may be called by several strands at the same time, with one strand each.
type form interface {
	// submit queues j, which has not started, for any drainer. The caller's strand is s; nil: it has none. It does not block.
	submit(s *strand, j *job)
	// hand is submit of a fork of s that the pool has kept for s alone so far.
	hand(s *strand, j *job)
	// takeBack claims j and takes it off its queue, for a caller that will run j itself or drop it. It returns false if j
	// has started or has been dropped.
	takeBack(s *strand, j *job) bool
	// next claims a job for s, which belongs to a drainer, and takes it off its queue. It returns nil if the drainer is to end. Only
	// Locked lets the drainer wait meanwhile.
	next(s *strand) *job
	// waiting tells whether next would find a job, if no other strand is quicker.
	waiting() bool
	// enter says that s, the caller, begins or goes on.
	enter(s *strand)
	// leave says that s, the caller, is about to park or to end. What s alone can reach is put where others find it.
	leave(s *strand)
	// fewer says that a strand is active no more: perhaps there is a worker now that has nothing to do.
	fewer()
	// replace is called where a strand waits for what another strand runs, and is active no more.
	replace()
	// close ends drainers that wait. When they have ended, end frees what the form has.
	close()
	end()
}
