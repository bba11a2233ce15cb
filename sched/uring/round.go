package uring

import (
	"time"

	"fiberlab/sched"
)

// contextDevice is the engine of a context as its worker sees it. The worker's loop is the context's: it runs tasks,
// polls the engine now and then, and waits in it when there is nothing to run. What is here adds the rounds of the task
// queue, and the stop rule.
type contextDevice struct {
	*Engine
	context *Context
	run     *contextRun
	alive   int // top-level tasks that have begun and not ended; for the thread of the worker
}

var _ sched.Device = (*contextDevice)(nil)

// Ready implements sched.Device.
func (d *contextDevice) Ready() bool { return d.engine.ready() || d.Engine.Ready() }

// Poll implements sched.Device: it begins a round, and polls the engine.
func (d *contextDevice) Poll() {
	d.engine.tasks.round(d.begin)
	d.Engine.Poll()
}

// begin queues a task as one of the worker's own, which runs it on a fiber.
func (d *contextDevice) begin(task func()) {
	err := d.run.scheduler.TryEnqueueOn(0, sched.Task{Func: func() {
		d.engine.tasks.begun()
		d.alive++
		defer func() { d.alive-- }()
		task()
	}})
	if err != nil {
		panic(err) // the worker takes what it gives to itself until it ends
	}
}

// Wait implements sched.Device: it begins a round, or waits if there is none to begin. The stop rule is tested before:
// the wait would not end.
func (d *contextDevice) Wait(limit time.Duration, brief bool) {
	if d.engine.ready() {
		d.Poll()
		return
	}
	if d.nothingLeft() {
		d.context.tryStop(d.run)
	}
	d.Engine.Wait(limit, brief)
}

// nothingLeft is the stop rule: no task is queued, none is suspended, no input or output is under way. No task runs:
// the worker is about to wait.
func (d *contextDevice) nothingLeft() bool {
	tasks := d.engine.tasks
	return tasks.open.Load() && tasks.len() == 0 && !d.anySuspended() && d.engine.emptyIO()
}

// anySuspended reports whether a top-level task is suspended, or anything that such tasks have started.
func (d *contextDevice) anySuspended() bool {
	if d.alive > 0 {
		return true
	}
	started := d.run.scheduler.Stats()
	return started.Blocked+started.Pending > 0
}
