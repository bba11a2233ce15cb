package sched

import (
	"errors"
	"fmt"
	"sync"

	"fiberlab/fiber"
	"fiberlab/internal/clock"
)

// wait blocks f, which must be the calling fiber, until pred holds or deadline has
// come. The worker's lock must not be held.
//
// The worker's lock is taken before the caller's lock, if that is a sync.Mutex, is released.
// So whoever makes pred true under the caller's lock and then notifies cannot do so before
// f is known to be blocked, and no notification is lost. For other locks see unlockFirst.
//
// What suspend does is written out here. On the goroutine backend the processor
// predicts each return after a switch wrongly, so that two functions less are felt.
func (f *Fiber) wait(lock sync.Locker, deadline clock.Instant, pred func() bool) bool {
	if f == nil || !f.fiber.IsCurrent() {
		panic(f.misuse("wait"))
	}
	w := f.worker
	_, plain := lock.(*sync.Mutex)
	for pred == nil || !pred() {
		w.work.lock()
		notified, timedOut := false, false
		switch {
		case plain:
			lock.Unlock()
		case lock != nil:
			notified = w.unlockFirst(f, lock)
		}
		if !notified {
			w.block(f, deadline)
			for w.current = w.successor(); w.current != f; {
				w.arrived(f, f.fiber.SwitchTo(w.current.fiber))
			}
			w.resume(f)
			timedOut = f.timedOut
		}
		w.work.unlock()
		if lock != nil {
			lock.Lock()
		}
		switch {
		case pred == nil:
			return !timedOut
		case timedOut:
			return pred()
		}
	}
	return true
}

// unlockFirst releases a lock whose Unlock may want the worker's lock, as one does that wakes
// fibers, and tells whether somebody has notified f since. The worker's lock must be
// held; it is released meanwhile.
func (w *Worker) unlockFirst(f *Fiber, lock sync.Locker) bool {
	outer, earlier := f.leaving, f.notified // set if an Unlock waits in its turn
	f.leaving, f.notified = true, false
	w.work.unlock()
	lock.Unlock()
	w.work.lock()
	notified := f.notified
	f.leaving, f.notified = outer, notified || earlier
	return notified
}

// suspend blocks the current fiber and runs others until somebody or the deadline has
// made it Queued and its turn has come. The lock must be held; it is released meanwhile.
func (w *Worker) suspend(deadline clock.Instant) {
	w.work.mustHold("suspend")
	f := w.current
	w.block(f, deadline)
	w.switchTo(w.successor())
	w.resume(f)
}

// yield puts f, the current fiber, behind the others that are to run, and lets one
// task be begun if there is any. With nothing to run it returns at once, and f stays Running.
func (w *Worker) yield(f *Fiber) {
	w.work.lock()
	if !w.hasWork() {
		w.work.unlock()
		return
	}
	w.change(f, Queued, WhyYield)
	w.work.fibers.Push(f)
	if w.work.fibers.Peek() == f {
		w.work.resumed = mostResumed
	}
	w.work.blocked++
	w.switchTo(w.successor())
	w.resume(f)
	w.work.unlock()
}

// block makes f, the current fiber, Yielded if deadline is never and Waiting
// otherwise. The lock must be held.
func (w *Worker) block(f *Fiber, deadline clock.Instant) {
	w.work.mustHold("block")
	f.timedOut = false
	if deadline == clock.Never {
		w.change(f, Yielded, WhyWait)
	} else {
		w.change(f, Waiting, WhyWait)
		w.work.waiting.add(f, deadline)
	}
	w.work.blocked++
}

// resume makes f Running, which was Queued and has become current. The lock must be held.
func (w *Worker) resume(f *Fiber) {
	w.work.mustHold("resume")
	w.work.blocked--
	w.change(f, Running, WhyResume)
}

// successor finds the fiber that goes on in the place of the current one, which has been
// put where it will be found: it may be the successor itself. The lock must be held; it is
// released while there is nothing to run.
func (w *Worker) successor() *Fiber {
	w.work.mustHold("successor")
	w.waitForWork()
	if to := w.next(); to != nil {
		return to
	}
	return w.makeSuccessor()
}

// makeSuccessor makes a fiber to go on with. If none can be made it goes on trying until
// one can, or is queued. The lock must be held; it is released meanwhile.
func (w *Worker) makeSuccessor() *Fiber {
	w.work.mustHold("makeSuccessor")
	for {
		w.makeIdle()
		w.waitForWork()
		if to := w.next(); to != nil {
			w.work.exhausted = nil
			return to
		}
	}
}

// next takes the fiber that goes on: one that is queued, else one that is idle. It
// returns nil if there is neither. The lock must be held.
func (w *Worker) next() *Fiber {
	w.work.mustHold("next")
	q := &w.work
	switch {
	case q.stuck != nil && w.current != w.main:
		q.removeIdle(w.main)
		return w.main
	case w.fiberIsNext():
		q.resumed++
		return q.fibers.Pop()
	case len(q.idle) > 0:
		return q.takeIdle()
	}
	return nil
}

// switchTo hands the thread to another fiber, and returns when the one that calls it
// is current again. The lock must be held, and goes with the thread.
//
// The thread may come back earlier: when a fiber ends, it falls to the main fiber,
// and a deadlock inquiry enters each blocked fiber. Who gets it by mistake hands it on.
func (w *Worker) switchTo(to *Fiber) {
	w.work.mustHold("switchTo")
	f := w.current
	for w.current = to; w.current != f; {
		w.arrived(f, f.fiber.SwitchTo(w.current.fiber))
	}
}

// arrived is what f does first when it has got the thread, or has not been able to give
// it away because of err. If it was entered for the sake of an inquiry, it answers.
func (w *Worker) arrived(f *Fiber, err error) {
	switch {
	case errors.Is(err, fiber.ErrLocked):
		w.keepThread(f, err)
	case err != nil:
		panic(fmt.Sprintf("sched: %v cannot hand its thread to %v: %v", f, w.current, err))
	}
	for w.asked == f {
		w.asked = nil
		f.tell()
		w.enter(f, w.asker)
	}
}

// enter switches from the fiber that runs to another one.
func (w *Worker) enter(from, to *Fiber) {
	if err := from.fiber.SwitchTo(to.fiber); err != nil {
		panic(fmt.Sprintf("sched: %v cannot enter %v: %v", from, to, err))
	}
}
