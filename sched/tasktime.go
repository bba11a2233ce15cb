package sched

import (
	"time"

	"fiberlab/internal/clock"
)

// TaskTime is how many tasks of one name began, and for how long they were in which states.
type TaskTime struct {
	Tasks   uint64
	Running time.Duration
	Queued  time.Duration // it was to run, but others ran on its worker
	Blocked time.Duration // Yielded or Waiting
}

func (t *TaskTime) add(more TaskTime) {
	t.Tasks += more.Tasks
	t.Running += more.Running
	t.Queued += more.Queued
	t.Blocked += more.Blocked
}

// stretch is what a recorder knows of a fiber between two transitions.
type stretch struct {
	since  clock.Instant // of the last transition, or change of the task
	inTask bool
	task   string // its name
}

// TaskTimes returns the time of all tasks, by their names, until the last transition of each; that of tasks
// without a name, and of further ones when there are too many names, is that of the empty name.
func (r *Recorder) TaskTimes() map[string]TaskTime {
	sum := make(map[string]TaskTime)
	r.each(func(part *ring) {
		for name, t := range part.times {
			s := sum[name]
			s.add(*t)
			sum[name] = s
		}
	})
	return sum
}

// stretch returns that of the fiber. The ring's lock must be held.
func (r *ring) stretch(fiber int) *stretch {
	c := r.stretches[fiber]
	if c == nil {
		c = &stretch{since: clock.Now()}
		r.stretches[fiber] = c
	}
	return c
}

// timesOf returns the times of that name. The ring's lock must be held.
func (r *ring) timesOf(name string) *TaskTime {
	t := r.times[name]
	if t == nil {
		t = &TaskTime{}
		r.times[name] = t
	}
	return t
}

// charge adds the time since the last change to the task of the fiber, which was in that state until now.
// The ring's lock must be held.
func (r *ring) charge(c *stretch, state State, at clock.Instant) {
	took := time.Duration(at - c.since)
	c.since = at
	if !c.inTask {
		return
	}
	switch t := r.timesOf(c.task); state {
	case Running:
		t.Running += took
	case Queued:
		t.Queued += took
	case Yielded, Waiting:
		t.Blocked += took
	}
}
