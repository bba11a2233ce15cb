package sched

import (
	"time"

	"fiberlab/internal/clock"
)

// waitForWork returns when there is something to run, or when the worker is to end.
// The lock must be held; it is released meanwhile. The calling fiber may be
// a blocked one: whichever fiber found nothing left to run does the waiting.
func (w *Worker) waitForWork() {
	w.work.mustHold("waitForWork")
	if w.hasWork() {
		return
	}
	w.work.rests++
	if len(w.ended) > 0 {
		w.work.unlock()
		w.reap()
		w.work.lock()
		if w.hasWork() {
			return
		}
	}
	w.work.counts.rest()
	defer w.work.counts.work()
	if w.mayBegin() {
		deadline := w.work.waiting.next()
		w.bell.hush()
		w.work.unlock()
		w.spinForWork(deadline)
		w.work.lock()
	}
	for !w.hasWork() && !w.finished() && w.work.stuck == nil {
		if w.work.inquiry != nil {
			w.answer()
		} else {
			w.sleep()
		}
	}
	w.bell.busy()
	w.passOn()
}

// mayBegin tells whether the worker can begin tasks of others: it has a thread of its own, and
// could make a fiber for them when it last had to. The lock must be held.
func (w *Worker) mayBegin() bool {
	w.work.mustHold("mayBegin")
	return w.mode == multiThreaded && w.work.exhausted == nil
}

// passOn wakes another worker for what this one, who has just found work, was woken for and
// will not do next. Who brought a task took this worker for idle, and has told no other; who
// wanted a thief may have met it after its last look. The bell must be marked busy, so that
// whoever comes later sees that it is; and the lock must be held.
func (w *Worker) passOn() {
	w.work.mustHold("passOn")
	if w.mode != multiThreaded {
		return
	}
	q := &w.work
	if w.summoned.Load() || w.inbox.forThieves() > 0 || !q.fibers.Empty() && !q.tasks.Empty() {
		w.scheduler.rouse()
	}
}

// sleep blocks the thread until somebody brings work or the earliest deadline has come. It
// may also return for no reason. The lock must be held; it is released meanwhile.
func (w *Worker) sleep() {
	w.work.mustHold("sleep")
	if f := w.current; f.state == Running {
		f.task.End() // it is no task's that waits
	}
	limit := time.Duration(-1) // none
	if deadline := w.work.waiting.next(); deadline != clock.Never {
		limit = max(time.Duration(deadline-clock.Now()), 0)
	}
	w.bell.hush()
	s, slept := w.scheduler, uint64(0)
	open := w.mayBegin()
	if open {
		w.summoned.Store(false)
		s.asleep.Add(w.id)
	}
	w.work.unlock()
	// The last look: what was brought before the bell was hushed, and what lies
	// with busy workers since before this one could be seen to be asleep.
	if w.inbox.waiting.Load() == 0 && !(open && w.steal(true)) {
		if open && w.spared && (limit < 0 || limit > longestWake) {
			limit = longestWake
		}
		began := clock.Now()
		if w.bell.lieDown() {
			s.tell()
			w.bell.sleep(limit, w.spin.brief)
		}
		w.spin.slept(clock.Now() - began)
		slept = 1
	}
	if open {
		s.asleep.Remove(w.id)
	}
	w.work.lock()
	w.work.counts.sleeps += slept
}
