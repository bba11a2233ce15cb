package main

import (
	"errors"
	"fmt"
	"strings"

	"fiberlab/sched"
)

// transition is how often fibers went from one state to another.
type transition struct {
	From  string `json:"from"`
	To    string `json:"to"`
	Count uint64 `json:"count"`
}

// describe adds to br what the scheduler did, as r has recorded it, and each transition if states is true.
func (br *backendReport) describe(active activity, r *sched.Recorder, states bool) {
	t, times := r.Transitions(), r.TaskTimes()
	for _, name := range []string{"read", "split", "count", "clock"} {
		s := times[name]
		br.Stages = append(br.Stages, stageReport{name, int(s.Tasks), s.Running.Seconds(), s.Queued.Seconds(), s.Blocked.Seconds()})
	}
	br.Tasks, br.Blocked = active.tasks, active.blocked
	for _, w := range active.stats.Workers {
		br.Workers = append(br.Workers, workerReport{w.Worker, w.Worker >= active.workers, int(w.Tasks), int(w.Switches),
			int(w.Stolen), int(w.Sleeps), w.Busy.Seconds(), w.Idle.Seconds()})
	}
	for s := sched.Idle; s <= sched.Running; s++ {
		br.Switches += int(t.Of(s, sched.Running))
		if !occurred(s, t) {
			br.Absent = append(br.Absent, s.String())
		}
	}
	if states {
		br.Transitions = madeTransitions(t)
	}
}

// occurred tells whether any fiber came into the state or left it.
func occurred(state sched.State, t sched.Transitions) bool {
	for s := sched.Idle; s <= sched.Running; s++ {
		if t.Of(s, state)+t.Of(state, s) > 0 {
			return true
		}
	}
	return false
}

// madeTransitions lists those that were made.
func madeTransitions(t sched.Transitions) []transition {
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
func (br backendReport) count(from, to string) uint64 {
	for _, tr := range br.Transitions {
		if tr.From == from && tr.To == to {
			return tr.Count
		}
	}
	return 0
}

// absence is an error that names the states that did not occur on a backend, or nil.
func (r report) absence() error {
	if r.Pipeline == nil {
		return nil
	}
	var errs []error
	for _, br := range r.Pipeline.Backends {
		if len(br.Absent) > 0 {
			errs = append(errs, fmt.Errorf("%s: no fiber was ever %s: the scheduler or the pipeline is at fault",
				br.Backend, strings.Join(br.Absent, " nor ")))
		}
	}
	return errors.Join(errs...)
}
