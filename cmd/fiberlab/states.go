package main

import (
	"errors"
	"fmt"
	"strings"

	"fiberlab/cmd/fiberlab/wordcount"
	"fiberlab/sched"
	"fiberlab/sched/trace"
)

// transition counts how often fibers went from one state to another.
type transition struct {
	From  string `json:"from"`
	To    string `json:"to"`
	Count uint64 `json:"count"`
}

// entered counts how often fibers came into a state from another one.
type entered struct {
	State string `json:"state"`
	Count uint64 `json:"count"`
}

// describe adds what the scheduler did, as r has recorded it, and each transition if states is true.
func (c *countReport) describe(got *wordcount.Result, r *trace.Recorder, states bool) {
	t, times := r.Transitions(), r.TaskTimes()
	for _, name := range wordcount.TaskNames() {
		s := times[name]
		c.Stages = append(
			c.Stages, stageReport{name, int(s.Tasks), s.Running.Seconds(), s.Queued.Seconds(), s.Blocked.Seconds()},
		)
	}
	c.Tasks, c.Blocked = got.Tasks, got.Blocked
	bound := len(got.Stats.Workers) - 1
	for i, w := range got.Stats.Workers {
		c.Workers = append(c.Workers, workerReport{w.Worker, i == bound, int(w.Tasks), int(w.Switches),
			int(w.Stolen), int(w.Sleeps), w.Busy.Seconds(), w.Idle.Seconds()})
	}
	for s := sched.Idle; s <= sched.Running; s++ {
		c.Switches += int(t.Of(s, sched.Running))
		c.Entered = append(c.Entered, entered{s.String(), comings(s, t)})
		if !occurred(s, t) {
			c.Absent = append(c.Absent, s.String())
		}
	}
	if states {
		c.Transitions = madeTransitions(t)
	}
}

// comings is how often fibers came into the state from another one.
func comings(state sched.State, t trace.Transitions) (n uint64) {
	for s := sched.Idle; s <= sched.Running; s++ {
		if s != state {
			n += t.Of(s, state)
		}
	}
	return n
}

// occurred reports whether any fiber came into the state or left it.
func occurred(state sched.State, t trace.Transitions) bool {
	for s := sched.Idle; s <= sched.Running; s++ {
		if t.Of(s, state)+t.Of(state, s) > 0 {
			return true
		}
	}
	return false
}

// madeTransitions lists the transitions that occurred.
func madeTransitions(t trace.Transitions) []transition {
	var list []transition
	for from := sched.Idle; from <= sched.Running; from++ {
		for to := sched.Idle; to <= sched.Running; to++ {
			if n := t.Of(from, to); n > 0 {
				list = append(list, transition{from.String(), to.String(), n})
			}
		}
	}
	return list
}

// count is how often fibers went from one state to the other.
func (c countReport) count(from, to string) uint64 {
	for _, tr := range c.Transitions {
		if tr.From == from && tr.To == to {
			return tr.Count
		}
	}
	return 0
}

// absence is an error that names the states that did not occur in a count, or nil.
func (r report) absence() error {
	if r.Pipeline == nil {
		return nil
	}
	var errs []error
	for _, c := range r.Pipeline.Backends {
		if len(c.Absent) > 0 {
			errs = append(errs, fmt.Errorf("%s: no fiber was ever %s: the scheduler or the word count is at fault",
				c.label, strings.Join(c.Absent, " nor ")))
		}
	}
	return errors.Join(errs...)
}
