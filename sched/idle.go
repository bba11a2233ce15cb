package sched

import (
	"time"

	"fiberlab/internal/clock"
)

// waitForWork returns when there is something to run, or when the worker is to end. f is the calling fiber, which may
// be a blocked one: the fiber that found nothing left to run does the waiting. The worker then
// waits as its driver does.
//
// The caller must not poll before it takes what was found: policy.found has to know all that the worker could run first, or
// something else that it was woken for might wait while other workers sleep.
//
// Prevents lost wake-ups: the worker prepares its driver, then looks for work, and only then sleeps; others put work
// where the worker looks, and then notify the driver.
func (w *Worker) waitForWork(f *Fiber) {
	w.mustOwn("waitForWork")
	w.rests.add(1)
	w.giveRoom()
	w.reap()
	w.times.rest()
	w.own.looking = true
	for first := true; ; first = false {
		w.driver.prepare()
		if w.hasWork(f) || w.finished() || w.givesUp() {
			break
		}
		if first && w.mayBegin() && w.scheduler.policy.beginSpin(w) {
			w.record.spin(true)
			w.driver.spin(w.deadline(), w.seek)
			w.record.spin(false)
			w.scheduler.policy.endSpin(w)
		} else if check := w.check.Load(); check != nil {
			w.answer(f, check)
		} else {
			w.sleep(f)
		}
	}
	w.own.looking = false
	w.driver.work()
	w.times.work()
	if w.mode == multiThreaded {
		w.scheduler.policy.found(w)
	}
}

// hasWork tells whether there is anything to run in the place of f, the calling fiber, or whether f may go on.
func (w *Worker) hasWork(f *Fiber) bool {
	w.poll()
	return w.hasOwn() || w.hasTask() || f.load()&notified != 0
}

// deadline is when the worker has to poll again although nothing has notified it.
func (w *Worker) deadline() clock.Instant { return min(w.own.timers.next(), w.timers.next()) }

// sleep blocks the thread until the driver is notified or the earliest deadline has come. It may also return for no
// reason. The driver must be prepared.
func (w *Worker) sleep(f *Fiber) {
	if f.load().state() == Running {
		f.task.End() // no task waits on this fiber
	}
	policy, open := w.scheduler.policy, w.mayBegin() || w.recovers()
	if open {
		policy.beginSleep(w)
		defer policy.endSleep(w)
	}
	// The last look: work may have come before other workers could see that this one sleeps.
	if open && policy.seek(w, true) {
		return
	}
	w.timers.watch(w)
	until := w.deadline()
	if open {
		until = min(until, policy.lookAgain(w))
	}
	w.nextDeadline.Store(int64(until))
	if !open && w.mode == multiThreaded {
		until = min(until, clock.After(retryPause)) // no thread wakes it for what the policy has
	}
	if !w.driver.commit() {
		return
	}
	w.scheduler.tell()
	limit := time.Duration(-1) // none
	if until != clock.Never {
		limit = max(time.Duration(until-clock.Now()), 0)
	}
	w.driver.sleep(limit)
	w.sleeps.add(1)
}
