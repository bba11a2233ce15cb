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

// stretch is what a recorder knows of a fiber between two transitions.
type stretch struct {
	since  time.Duration // when its last transition, or change of the task, was
	inTask bool
}

// TaskTimes returns the time of all tasks, by their names, until the last transition of each. The empty name has the
// time of tasks without a name and, when there are too many names, of tasks with further names.
func (r *Recorder) TaskTimes() map[string]TaskTime {
	sum := make(map[string]TaskTime)
	r.each(func(part *buffer) {
		for name, t := range part.times {
			s := sum[name]
			sum[name] = TaskTime{s.Tasks + t.Tasks, s.Running + t.Running, s.Queued + t.Queued, s.Blocked + t.Blocked}
		}
	})
	return sum
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

// charge adds the time since the last change to the task of the fiber, which was in that state until e. It returns the
// fiber's stretch, which begins anew. The buffer's lock must be held.
func (b *buffer) charge(e *sched.Event, state sched.State) *stretch {
	s := b.stretches[e.Fiber]
	if s == nil {
		s = &stretch{}
		b.stretches[e.Fiber] = s
	}
	took := e.At - s.since
	s.since = e.At
	if !s.inTask {
		return s
	}
	switch t := b.timesOf(e.Task); state {
	case sched.Running:
		t.Running += took
	case sched.Queued:
		t.Queued += took
	case sched.Yielded, sched.Waiting:
		t.Blocked += took
	}
	return s
}
