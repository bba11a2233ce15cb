package sched

import "time"

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

// recovers ends the exhaustion of a worker that shares fibers, if no task is left that it could not begin: it has to be
// woken for fibers that are ready. It tells whether it did.
func (w *Worker) recovers() bool {
	s := w.scheduler
	if !w.sharesFibers() || s.policy.shared() > 0 {
		return false
	}
	for _, other := range s.workers {
		if s.policy.pending(other) > 0 {
			return false
		}
	}
	w.notExhausted()
	return true
}

// skipTasks returns a fiber that the policy has, or nil, if the worker could make no fiber for tasks when it last
// had to. Tasks that come first are put behind.
func (w *Worker) skipTasks() *Fiber {
	if w.exhausted.Load() == nil || !w.sharesFibers() {
		return nil
	}
	for range w.scheduler.policy.shared() + w.scheduler.policy.pending(w) {
		r, ok := w.scheduler.policy.next(w)
		switch {
		case !ok:
			return nil
		case r.fiber != nil:
			r.fiber.worker.Store(w)
			w.notExhausted()
			return r.fiber
		}
		w.putBack(r.task)
	}
	return nil
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
