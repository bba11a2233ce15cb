package trace

import (
	"time"

	"fiberlab/sched"
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
	since  time.Duration // of the last transition, or change of the task
	inTask bool
	task   string // its name
}

// TaskTimes returns the time of all tasks, by their names, until the last transition of each. The empty name has the
// time of tasks without a name and, when there are too many names, of tasks with further names.
func (r *Recorder) TaskTimes() map[string]TaskTime {
	sum := make(map[string]TaskTime)
	r.each(func(part *buffer) {
		for name, t := range part.times {
			s := sum[name]
			s.add(*t)
			sum[name] = s
		}
	})
	return sum
}

// stretch returns the stretch of the fiber. The buffer's lock must be held.
func (b *buffer) stretch(m sched.Moment) *stretch {
	s := b.stretches[m.Fiber]
	if s == nil {
		s = &stretch{since: m.At}
		b.stretches[m.Fiber] = s
	}
	return s
}

// mostNames is how many names of tasks a buffer distinguishes.
const mostNames = 1024

// timesOf returns the times of that name, or of the empty name if there are too many names. The buffer's lock must be
// held.
func (b *buffer) timesOf(name string) *TaskTime {
	t := b.times[name]
	if t == nil && name != "" && len(b.times) >= mostNames {
		return b.timesOf("")
	}
	if t == nil {
		t = &TaskTime{}
		b.times[name] = t
	}
	return t
}

// charge adds the time since the last change to the task of the fiber, which was in that state until m. It returns the
// fiber's stretch, which begins anew. The buffer's lock must be held.
func (b *buffer) charge(m sched.Moment, state sched.State) *stretch {
	s := b.stretch(m)
	took := m.At - s.since
	s.since = m.At
	if !s.inTask {
		return s
	}
	switch t := b.timesOf(s.task); state {
	case sched.Running:
		t.Running += took
	case sched.Queued:
		t.Queued += took
	case sched.Yielded, sched.Waiting:
		t.Blocked += took
	}
	return s
}
