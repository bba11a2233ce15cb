package uring

import (
	"fmt"
	"os"
	"runtime/debug"
)

// TopLevel is a task as a program submits it. It returns nothing: it passes its results on itself. It may
// wait, and is suspended then. If it calls Goexit, the program ends, as any task's Goexit ends it.
type TopLevel struct {
	Run       func()
	BeforeEnd func() // runs when Run has returned, panicked or called Goexit, on the same fiber; may be nil
}

// wrap returns what a fiber runs for t. It reports a panic of either function, and in each case calls ended last, once.
// Nothing refers to t afterwards.
func (t TopLevel) wrap(panicked func(value any, stack []byte), ended func()) func() {
	return func() {
		defer ended()
		if t.BeforeEnd != nil {
			defer report(panicked, t.BeforeEnd)
		}
		report(panicked, t.Run)
	}
}

// report calls f, and tells panicked of its panic.
func report(panicked func(value any, stack []byte), f func()) {
	defer func() {
		if value := recover(); value != nil {
			panicked(value, debug.Stack())
		}
	}()
	f()
}

// toStderr reports a panic where the program has not said how.
func toStderr(value any, stack []byte) {
	fmt.Fprintf(os.Stderr, "sched/uring: a task has panicked: %v\n\n%s", value, stack)
}
