package trace

import (
	"slices"
	"time"

	"fiberlab/sched"
)

// Mark is something that happened within the task of a fiber.
type Mark struct {
	At     time.Duration // since the recorder was made
	Worker int           // on which the fiber ran
	Maker  int           // with Fiber, names the fiber; see Event
	Fiber  int
	Task   string // the name of the task, if it has one
	What   What
	Name   string // what the task has given; of Said only
}

// What is the kind of a Mark.
type What uint8

const (
	Said  What = iota // the task has called sched.AddMark
	Began             // the task began
	Ended             // the task ended, however that was
)

// Marks returns the marks that are kept, the earliest first: as many of each worker as transitions.
func (r *Recorder) Marks() []Mark {
	var marks []Mark
	r.each(func(part *ring) { marks = part.marks.appendTo(marks) })
	slices.SortStableFunc(marks, func(a, b Mark) int { return int(a.At - b.At) })
	return marks
}

// Mark implements [sched.WorkerRecorder].
func (r *ring) Mark(m sched.Moment, name string) { r.keepMark(m, Said, name) }

// Begin implements [sched.WorkerRecorder].
func (r *ring) Begin(m sched.Moment, task string) {
	s := r.charge(m, sched.Running)
	s.inTask, s.task = true, task
	r.timesOf(task).Tasks++
	r.keepMark(m, Began, "")
}

// End implements [sched.WorkerRecorder].
func (r *ring) End(m sched.Moment) {
	s := r.charge(m, sched.Running)
	r.keepMark(m, Ended, "")
	s.inTask, s.task = false, ""
}

// Rename implements [sched.WorkerRecorder]. What the task has done so far is counted by its earlier name.
func (r *ring) Rename(m sched.Moment, task string) {
	s := r.charge(m, sched.Running)
	if s.inTask {
		r.timesOf(s.task).Tasks--
		r.timesOf(task).Tasks++
		r.keepMark(m, Ended, "")
		s.task = task
		r.keepMark(m, Began, "")
	}
}

// keepMark keeps a mark of the fiber's task.
func (r *ring) keepMark(m sched.Moment, what What, name string) {
	if r.recorder.capacity > 0 {
		task := r.stretch(m).task
		r.marks.keep(Mark{At: r.since(m), Worker: m.Worker, Maker: r.worker, Fiber: m.Fiber, Task: task, What: what, Name: name}, r.recorder.capacity)
	}
}
