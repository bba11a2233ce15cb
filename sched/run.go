package sched

import (
	"math"

	"fiberlab/internal/clock"
)

// mostResumed is how many fibers are resumed in a row while tasks wait: fibers that
// wake one another for ever must not keep a task from being begun.
const mostResumed = 32

// mostBegun is how many tasks are begun in a row while others lie in the inbox:
// tasks that schedule further ones on their own worker must not keep others out.
const mostBegun = 64

// mostTaken is how many tasks are then moved from the inbox at once: moving one by one takes
// some microseconds a thousand, and Notify waits for the lock. It is much more than mostBegun,
// so that the inbox empties, and the blocks of its queue are used again while they are in the cache.
const mostTaken = 16 * mostBegun

// runUntilIdle runs fibers that are queued and begins tasks until there are neither.
// The lock must be held; it is released while a task runs.
func (w *Worker) runUntilIdle() {
	w.work.mustHold("runUntilIdle")
	f, q := w.current, &w.work
	for !f.ending {
		w.look()
		switch {
		case w.fiberIsNext():
			q.resumed++
			if !w.giveWay(f, q.fibers.Pop()) {
				return
			}
		case w.hasTask():
			q.resumed = 0
			q.begun++
			q.counts.tasks++
			task := w.nextTask()
			// What comes to this worker from now on finds it busy, and wakes another.
			more := w.mode == multiThreaded && (!q.tasks.Empty() || w.inbox.forThieves() > 0)
			q.unlock()
			if more {
				w.scheduler.rouse()
			}
			w.execute(f, task)
			if len(w.ended) >= mostEnded {
				w.reap()
			}
			q.lock()
		default:
			return
		}
	}
}

// giveWay makes f, the current fiber, Idle and runs to instead. It returns false
// if f is to end: at once, because enough fibers are idle, or in the end. The lock must be held.
func (w *Worker) giveWay(f, to *Fiber) bool {
	w.work.mustHold("giveWay")
	q := &w.work
	if len(q.idle) >= w.scheduler.cfg.MaxIdle && f != w.main {
		f.ending = true
		w.current = to
		return false
	}
	w.change(f, Idle, WhyGiveWay)
	f.task.End()
	q.idle = append(q.idle, f)
	w.switchTo(to)
	if f.ending {
		return false
	}
	w.change(f, Running, WhyCarry)
	return true
}

// look brings to the worker's queues what is due: fibers whose deadline has passed,
// and the tasks of the inbox when its own have run out, or some when it is the others' turn.
// The lock must be held.
func (w *Worker) look() {
	w.work.mustHold("look")
	q := &w.work
	if !q.waiting.empty() {
		w.enqueueFiberTimeouts()
	}
	if (q.tasks.Empty() || q.begun >= mostBegun) && w.inbox.waiting.Load() > 0 {
		most := mostTaken
		if q.tasks.Empty() {
			most = math.MaxInt // all there is, which takes no longer than one
		}
		w.inbox.takeOwn(&q.tasks, &q.pinned, most)
		q.begun = 0
	}
}

// enqueueFiberTimeouts makes each Waiting fiber whose deadline has come Queued.
// The lock must be held.
func (w *Worker) enqueueFiberTimeouts() {
	w.work.mustHold("enqueueFiberTimeouts")
	for t := clock.Now(); ; {
		f := w.work.waiting.take(t)
		if f == nil {
			return
		}
		f.timedOut = true
		w.change(f, Queued, WhyTimeout)
		w.work.fibers.Push(f)
	}
}

// enqueueFiber makes f Queued if it is blocked; see Fiber.Notify.
func (w *Worker) enqueueFiber(f *Fiber) {
	w.work.lock()
	woken := w.wake(f)
	w.work.unlock()
	if woken {
		w.bell.ring()
	}
}

// wake makes f Queued and returns true if it is blocked. Otherwise it has been woken
// already, or its task has ended: whoever wakes it is late. The lock must be held, and
// the bell rung once it is not.
func (w *Worker) wake(f *Fiber) bool {
	w.work.mustHold("wake")
	if f.leaving {
		f.notified = true
	}
	switch f.state {
	case Idle, Queued, Running:
		return false
	case Waiting:
		w.work.waiting.remove(f)
	case Yielded:
	}
	w.change(f, Queued, WhyNotify)
	w.work.fibers.Push(f)
	return true
}

func (w *Worker) hasTask() bool { return !w.work.tasks.Empty() || !w.work.pinned.Empty() }

// hasWork tells whether there is anything to run. The lock must be held.
func (w *Worker) hasWork() bool {
	w.work.mustHold("hasWork")
	w.look()
	return !w.work.fibers.Empty() || w.hasTask()
}

// fiberIsNext decides between the fibers and the tasks that are to run: fibers come
// first, but not for ever. The lock must be held.
func (w *Worker) fiberIsNext() bool {
	w.work.mustHold("fiberIsNext")
	return !w.work.fibers.Empty() && (w.work.resumed < mostResumed || !w.hasTask())
}

// nextTask takes a task; there must be one. Pinned ones alternate with others. The lock must be held.
func (w *Worker) nextTask() job {
	w.work.mustHold("nextTask")
	q := &w.work
	if q.tasks.Empty() || !q.pinned.Empty() && q.counts.tasks&1 == 0 {
		return q.pinned.Pop()
	}
	return q.tasks.Pop()
}
