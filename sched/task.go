package sched

import (
	"context"
	"fmt"
	stackdump "runtime/debug"
)

// Flags say how a task is to be run.
type Flags uint8

// SameThread keeps a task on the worker that the caller runs on, or that EnqueueOn
// names: it is never given to another one nor stolen.
const SameThread Flags = 1 << 0

// GroupLocal keeps a task, and the fiber that it runs on, in its scheduling group: other groups do not steal it. See Groups.
const GroupLocal Flags = 1 << 1

// hasRoom is a flag of jobs alone: the task has a place in its scheduler's room, until it begins.
const hasRoom Flags = 1 << 7

// Task is a function that a worker will call once, on one of its fibers. It begins without
// labels of the profiler (package pprof) and without debug.SetPanicOnFault, and leaves neither to others.
type Task struct {
	Func  func()
	Flags Flags
	Name  string // for deadlock reports, traces and TaskTimes, which are made for few names; may be empty
}

// job is a Task on its way to a fiber. It is half as large as a Task: all queues are made of jobs.
type job struct {
	Func  func()
	Flags Flags
	name  nameNumber
}

// job is what the queues hold of t.
func (s *Scheduler) job(t Task) job {
	j := job{Func: t.Func, Flags: t.Flags &^ hasRoom}
	if t.Name != "" {
		j.name = s.names.number(t.Name)
	}
	return j
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
	if f.begins(number); f.record != nil {
		f.record.rename(f, names.of(number))
	}
}

// Schedule queues f on the scheduler that is bound to the caller, as a task with
// these flags; see [Scheduler.Enqueue]. It returns ErrNotBound if there is none.
func Schedule(f func(), flags ...Flags) error {
	own := Current()
	if own == nil {
		return fmt.Errorf("sched: schedule: %w", ErrNotBound)
	}
	t := Task{Func: f}
	for _, flag := range flags {
		t.Flags |= flag
	}
	return own.maker.scheduler.enqueue(context.Background(), t, own.worker.Load())
}

// execute calls the function of a task on f, the calling fiber. Afterwards nothing of the task is left on f, which
// may have come to another worker.
func (f *Fiber) execute(t job) {
	w := f.worker.Load()
	if d := w.scheduler.drops.Load(); d != nil && d.drop(w.scheduler, t) {
		return
	}
	w.tasks.add(1)
	w.release(t)
	f.groupLocal = t.Flags&GroupLocal != 0
	migrates := f.home == nil
	if migrates && t.Flags&SameThread != 0 {
		f.home = w
	}
	if f.begins(t.name); f.record != nil {
		f.record.begin(f, w.scheduler.names.of(t.name))
	}
	returned := false
	defer func() {
		if !returned {
			f.failed(recover())
		}
		if f.place != nil {
			f.place = nil
		}
		f.residue.Clear()
		f.ends()
		if migrates {
			f.home = nil
		}
		if f.record != nil {
			f.record.end(f)
		}
	}()
	f.task.Begin(t.Func)
	t.Func()
	returned = true
}

// failed deals with a task that did not return: it panicked with value, or called
// Goexit if that is nil. It runs on top of the task's frames.
func (f *Fiber) failed(value any) {
	if value == nil {
		panic(ErrGoexit)
	}
	handler := f.maker.scheduler.cfg.Panicked
	if handler == nil {
		panic(value)
	}
	handler(value, stackdump.Stack())
}
