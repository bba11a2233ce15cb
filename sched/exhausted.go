package sched

import (
	"slices"
	"time"
)

// A worker is exhausted while it can make no fiber that a task needs: no memory is left, say. It goes on with what needs no new fiber, leaves
// tasks to other workers, and tries again after a pause.

// retryPause is how long a worker waits before it tries once more to make a fiber.
const retryPause = time.Millisecond

// exhaust records that the worker can make no fiber because of err. From then on it leaves to other workers the
// tasks that these may begin.
func (w *Worker) exhaust(err error) {
	w.nextDeadline.Store(int64(w.deadline()))
	if w.exhausted.Swap(&err) == nil {
		w.rests.add(1)
		w.scheduler.tell()
	}
	if check := w.check.Load(); check != nil {
		w.answer(w.own.current, check)
	}
	if w.mode == multiThreaded && w.scheduler.policy.has(w) {
		w.scheduler.policy.wakeOther(w)
	}
}

// notExhausted notes that the worker goes on, if it has been exhausted.
func (w *Worker) notExhausted() {
	if w.exhausted.Load() != nil {
		w.exhausted.Store(nil)
	}
}

// mayBegin tells whether the worker can begin tasks of others: it is multi-threaded, and
// could make a fiber for them when it last had to.
func (w *Worker) mayBegin() bool { return w.mode == multiThreaded && w.exhausted.Load() == nil }

// recovers ends the exhaustion of a worker that is about to sleep: if no task is left that it could not begin, since it has to be woken
// again for fibers that are ready, and for tasks that come later; or if it can make a fiber now. It tells whether it did.
func (w *Worker) recovers() bool {
	if w.mode != multiThreaded || w.anyPending() && w.addIdle() != nil {
		return false
	}
	w.notExhausted()
	return true
}

// anyPending tells whether the policy has anything, for whichever worker.
func (w *Worker) anyPending() bool {
	s := w.scheduler
	s.skipping.Lock()
	defer s.skipping.Unlock()
	return s.policy.shared() > 0 || slices.ContainsFunc(s.workers, func(w *Worker) bool { return s.policy.pending(w) > 0 })
}

// skipTasks returns a fiber that the policy has, or nil, if the worker could make no fiber for tasks when it last
// had to. Tasks that come first are put behind.
func (w *Worker) skipTasks() *Fiber {
	if w.exhausted.Load() == nil || !w.sharesFibers() {
		return nil
	}
	for range w.scheduler.policy.shared() + w.scheduler.policy.pending(w) {
		if f, more := w.skipTask(); f != nil || !more {
			return f
		}
	}
	return nil
}

// skipTask is skipTasks for what comes first. It tells whether it has put a task behind.
//
// The task is in no queue for a moment. Threads that must not take a queue for empty then hold the same lock: without it, a worker
// that finds no task goes to sleep and is woken for the task again, and no survey finds that nothing happens.
func (w *Worker) skipTask() (f *Fiber, skipped bool) {
	s := w.scheduler
	s.skipping.Lock()
	defer s.skipping.Unlock()
	r, ok := s.policy.next(w)
	switch {
	case !ok:
		return nil, false
	case r.fiber != nil:
		r.fiber.worker.Store(w)
		w.notExhausted()
		return r.fiber, false
	}
	w.putBack(r.task)
	return nil, true
}

// hasTaskToSkip is hasTask for an exhausted worker that has found none: another one may just be putting a task back.
func (w *Worker) hasTaskToSkip() bool {
	s := w.scheduler
	s.skipping.Lock()
	defer s.skipping.Unlock()
	return s.policy.has(w)
}

// offerMain adds the main fiber to the idle ones, if it has left all tasks to others: no other fiber can be made.
func (w *Worker) offerMain() {
	if main := w.own.main; w.mode == multiThreaded && main.load().state() == Idle {
		w.notExhausted()
		w.pushIdle(main)
	}
}

// onlyMainIsLeft tells whether f, which has no task, is the main fiber and may begin one.
func (w *Worker) onlyMainIsLeft(f *Fiber) bool {
	return f == w.own.main && w.mode == multiThreaded && f.load().state() == Running
}
