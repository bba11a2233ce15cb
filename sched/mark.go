package sched

import (
	"slices"
	"time"

	"fiberlab/internal/clock"
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
	Said  What = iota // the task has called AddMark
	Began             // the task began
	Ended             // the task ended, however that was
)

// AddMark adds a mark of that name to what the Recorder of the caller's scheduler keeps; a trace shows it where the
// calling task runs. It does nothing if there is no Recorder, or if the caller is no fiber of a
// scheduler. It does not block.
func AddMark(name string) {
	if f := Current(); f != nil && f.record != nil {
		f.record.mark(f, Said, name)
	}
}

// NameTask gives the calling task a name, as Task.Name does, from now on. It is for tasks that other code has
// enqueued. It does nothing if the caller is no fiber of a scheduler. It does not block.
func NameTask(name string) {
	f := Current()
	if f == nil {
		return
	}
	names := &f.maker.scheduler.names
	number := names.number(name)
	f.begins(number)
	if f.record != nil {
		f.record.rename(f, names.of(number))
	}
}

// Marks returns the marks that are kept, the earliest first: as many of each worker as transitions.
func (r *Recorder) Marks() []Mark {
	var marks []Mark
	r.each(func(part *ring) { marks = part.marks.appendTo(marks) })
	slices.SortStableFunc(marks, func(a, b Mark) int { return int(a.At - b.At) })
	return marks
}

func (r *ring) mark(f *Fiber, what What, name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keepMark(f, what, name, clock.Now())
}

// keepMark keeps a mark. The ring's lock must be held.
func (r *ring) keepMark(f *Fiber, what What, name string, at clock.Instant) {
	if r.recorder.capacity > 0 {
		m := Mark{At: r.since(at), Worker: f.worker.Load().id, Maker: r.worker, Fiber: f.id, Task: r.stretch(f.id).task, What: what, Name: name}
		r.marks.keep(m, r.recorder.capacity)
	}
}

// begin records that the fiber begins a task, which may have a name.
func (r *ring) begin(f *Fiber, task string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c, at := r.stretch(f.id), clock.Now()
	r.charge(c, Running, at)
	c.inTask, c.task = true, task
	r.timesOf(task).Tasks++
	r.keepMark(f, Began, "", at)
}

// end records that the fiber's task has ended.
func (r *ring) end(f *Fiber) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c, at := r.stretch(f.id), clock.Now()
	r.charge(c, Running, at)
	r.keepMark(f, Ended, "", at)
	c.inTask, c.task = false, ""
}

// rename records the name of the fiber's task. What it has done so far is counted by its earlier one.
func (r *ring) rename(f *Fiber, task string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c, at := r.stretch(f.id), clock.Now()
	r.charge(c, Running, at)
	if c.inTask {
		r.timesOf(c.task).Tasks--
		r.timesOf(task).Tasks++
		r.keepMark(f, Ended, "", at)
		c.task = task
		r.keepMark(f, Began, "", at)
	}
}
