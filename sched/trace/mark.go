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
	r.each(func(part *buffer) { marks = part.marks.appendTo(marks) })
	slices.SortStableFunc(marks, func(a, b Mark) int { return int(a.At - b.At) })
	return marks
}

// Mark implements [sched.WorkerRecorder].
func (b *buffer) Mark(m sched.Moment, name string) { b.keepMark(m, Said, name) }

// Begin implements [sched.WorkerRecorder].
func (b *buffer) Begin(m sched.Moment, task string) {
	s := b.charge(m, sched.Running)
	s.inTask, s.task = true, task
	b.timesOf(task).Tasks++
	b.keepMark(m, Began, "")
}

// End implements [sched.WorkerRecorder].
func (b *buffer) End(m sched.Moment) {
	s := b.charge(m, sched.Running)
	b.keepMark(m, Ended, "")
	s.inTask, s.task = false, ""
}

// keepMark keeps a mark of the fiber's task.
func (b *buffer) keepMark(m sched.Moment, what What, name string) {
	if b.recorder.capacity > 0 {
		task := b.stretch(m).task
		b.marks.keep(
			Mark{At: b.since(m), Worker: m.Worker, Maker: b.worker, Fiber: m.Fiber, Task: task, What: what, Name: name},
			b.recorder.capacity,
		)
	}
}
