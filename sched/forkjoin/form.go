package forkjoin

import (
	"fmt"
	"strings"

	"fiberlab/internal/fault"
)

// Form is how a pool keeps the tasks that have been forked and not begun.
type Form int

const (
	// Heartbeat keeps them in a list for each stack, whose fork costs a few nanoseconds. Other workers take the
	// oldest one, and pay for both: if forks are short, one that has been there for Config.Beat.
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
	return 0, fault.Of(
		ErrNoForm, fmt.Sprintf("forkjoin: no form %q: choose one of %s", name, strings.Join(formNames[:], ", ")),
	)
}

// form is where the jobs of a pool wait. All methods may be called by several strands at the same time, with one
// strand each. None blocks.
type form interface {
	// submit queues j, which has not started, for any drainer. The caller's strand is s; nil: it has none.
	submit(s *strand, j *job)
	// takeBack takes j off its queue, for a caller that will run j itself or drop it. It returns false if j has started
	// or has been dropped. It claims j, unless j is private and no other strand can have it. s may be nil if j is not
	// private.
	takeBack(s *strand, j *job) bool
	// next claims a job for s, which belongs to a drainer, and takes it off its queue. It returns nil if it finds none.
	next(s *strand) *job
	// submitted reports whether a job waits in a queue of no strand in particular. It takes no lock.
	submitted() bool
	// waiting reports whether next would find a job, if no other strand is quicker. The caller has made known
	// before that it is looking no more.
	waiting() bool
	// publish puts the forks of s, the caller, where others find them: s is about to park or to end.
	publish(s *strand)
}
