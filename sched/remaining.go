package sched

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Remaining is the error of a CloseContext whose context is done: what is left of the scheduler. It wraps
// context.Cause of that context. Other goroutines may have changed some of it since.
type Remaining struct {
	Scheduler string
	Cause     error     // context.Cause
	Queued    int       // tasks that have not begun; see Stats.Pending
	Bound     int       // goroutines that have not been unbound
	Running   []Busy    // fibers that run a task, or are ready to go on
	Blocked   []Blocked // fibers that wait, with a deadline or without
}

// Busy is a fiber that is not blocked.
type Busy struct {
	Worker int    // its worker's number
	Fiber  int    // its own number on the worker that has made it
	Task   string // the name of its task, if that has one
	State  State  // Running or Queued
}

// String is one line: the fiber and its state.
func (r Busy) String() string {
	return Blocked{Worker: r.Worker, Fiber: r.Fiber, Task: r.Task, State: r.State}.String()
}

// Error is the text of the report. Like that of a Deadlock it has a limited number of lines; Running and Blocked have all.
func (r *Remaining) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "sched: close %s: %v: left are %d tasks that have not begun, %d fibers that run, %d that are blocked, %d bound goroutines: call Close again",
		r.Scheduler, r.Cause, r.Queued, len(r.Running), len(r.Blocked), r.Bound)
	for _, f := range r.Running[:min(mostListed, len(r.Running))] {
		fmt.Fprintf(&b, "\n\t%v", f)
	}
	if more := len(r.Running) - mostListed; more > 0 {
		fmt.Fprintf(&b, "\n\tand %d more that run", more)
	}
	listBlocked(&b, r.Blocked)
	return b.String()
}

// Unwrap returns the cause.
func (r *Remaining) Unwrap() error { return r.Cause }

// remainingLimit is how long CloseContext waits until blocked fibers have said where they wait. Workers that have time answer
// within microseconds.
const remainingLimit = 50 * time.Millisecond

// remaining says what keeps the scheduler from ending.
func (s *Scheduler) remaining(ctx context.Context) *Remaining {
	stats := s.Stats()
	s.mu.Lock()
	r := &Remaining{Scheduler: s.cfg.Name, Cause: context.Cause(ctx), Queued: stats.Pending, Bound: len(s.bound)}
	s.mu.Unlock()
	told := make(map[[2]int]bool) // by worker and number
	if s.asking.TryLock() {
		r.Blocked = describe(s.answersOfSleepers())
		s.asking.Unlock()
	}
	for _, b := range r.Blocked {
		told[[2]int{b.Worker, b.Fiber}] = true
	}
	for _, f := range s.fibers.all() {
		number, busy := f.taskName()
		state, name := f.State(), s.names.of(number)
		switch {
		case state == Idle, told[[2]int{f.maker.id, f.id}]:
		case state == Yielded, state == Waiting:
			r.Blocked = append(r.Blocked, Blocked{Worker: f.maker.id, Fiber: f.id, Task: name, State: state})
		case busy:
			r.Running = append(r.Running, Busy{Worker: f.maker.id, Fiber: f.id, Task: name, State: state})
		}
	}
	slices.SortFunc(r.Running, func(a, b Busy) int {
		return slices.Compare([]int{a.Worker, a.Fiber}, []int{b.Worker, b.Fiber})
	})
	slices.SortStableFunc(r.Blocked, func(a, b Blocked) int {
		return slices.Compare([]int{a.Worker, a.Fiber}, []int{b.Worker, b.Fiber})
	})
	return r
}

// answersOfSleepers has the workers that sleep list their blocked fibers. asking must be held.
func (s *Scheduler) answersOfSleepers() (answers []answer) {
	limit := time.After(remainingLimit)
	for _, w := range s.everyWorker() {
		if !w.driver.asleep() || !s.fibers.anyYielded(w) {
			continue
		}
		some, inTime := w.listBlocked(limit)
		answers = append(answers, some...)
		if !inTime {
			break
		}
	}
	return answers
}
