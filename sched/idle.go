package sched

import (
	"time"
)

// waitForWork returns when there is something to run, or when the worker is to end.
// The lock must be held; it is released meanwhile. The calling fiber may be
// a blocked one: whichever fiber found nothing left to run does the waiting.
func (w *Worker) waitForWork() {
	w.work.mustHold("waitForWork")
	if w.hasWork() {
		return
	}
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
	if w.mode == multiThreaded {
		deadline := w.work.waiting.next()
		w.bell.hush()
		w.work.unlock()
		w.spinForWork(deadline)
		w.work.lock()
	}
	idle := idleness{since: now()}
	for !w.hasWork() && !w.finished() && !w.work.stuck {
		limit := w.inquire(&idle)
		if w.work.stuck {
			return
		}
		w.sleep(limit)
	}
	w.bell.busy()
	w.passOn()
	if idle.reported {
		w.scheduler.unstuck(w)
	}
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
	if w.summoned.Load() || w.inbox.waiting.Load() > 0 || !q.fibers.empty() && !q.tasks.empty() {
		w.scheduler.rouse()
	}
}

// sleep blocks the thread until somebody brings work, the earliest deadline has come
// or limit has passed. The lock must be held; it is released meanwhile.
func (w *Worker) sleep(limit time.Duration) {
	w.work.mustHold("sleep")
	if deadline := w.work.waiting.next(); deadline != never {
		limit = max(time.Duration(deadline-now()), 0)
	}
	w.bell.hush()
	s, slept := w.scheduler, uint64(0)
	if w.mode == multiThreaded {
		w.summoned.Store(false)
		s.asleep.add(w.id)
	}
	w.work.unlock()
	// The last look: what was brought before the bell was hushed, and what lies
	// with busy workers since before this one could be seen to be asleep.
	if w.inbox.waiting.Load() == 0 && !(w.mode == multiThreaded && w.steal(true)) {
		if w.spared && (limit < 0 || limit > longestWake) {
			limit = longestWake
		}
		began := now()
		w.bell.sleep(limit, w.spin.brief)
		w.spin.slept(now() - began)
		slept = 1
	}
	if w.mode == multiThreaded {
		s.asleep.remove(w.id)
	}
	w.work.lock()
	w.work.counts.sleeps += slept
}
