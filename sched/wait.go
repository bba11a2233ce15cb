package sched

import (
	"sync"

	"fiberlab/fiber"
	"fiberlab/internal/clock"
)

// How a fiber waits, and how it goes on.
//
//	block    its word says so: from now on others may wake it
//	suspend  its worker picks another fiber, switches to it, and comes back when f has been picked
//	wake     another thread, or a timer, makes it Queued, once, and puts it where it will be run
//	resume   it is Running again
//
// A fiber that blocks can be woken before its registers are saved: it is still running. If it has a home, that does no
// harm, since only the thread that it runs on will pick it. If it may migrate, its word says that it is
// unpublished until the switch has been made; a thread that wakes it only leaves a mark, and the fiber that
// arrives on the other side of the switch publishes it. Without that, another worker could
// enter a stack that is in use.

// wait blocks f, which must be the calling fiber, until pred holds or deadline has come.
//
// f is blocked before lock is released, if that is a sync.Mutex: the thread that makes pred true under the lock and
// then notifies finds f blocked, and no notification is lost. For other locks see unlockFirst.
//
// What suspend does is written out here: docs/scheduler.md names the benchmark.
func (f *Fiber) wait(lock sync.Locker, deadline clock.Instant, pred func() bool) bool {
	if f == nil || f.self.Load() != uint64(fiber.Self()) && f != Current() {
		panic(f.misuse("wait"))
	}
	for pred == nil || !pred() {
		if f.hook != nil && !f.hookTold {
			return f.waitTold(lock, deadline, pred)
		}
		timedOut, blocked, outer := false, true, word(0)
		switch l := lock.(type) {
		case nil:
			f.block(deadline, 0)
		case *sync.Mutex:
			f.block(deadline, 0)
			l.Unlock()
		default:
			outer, blocked = f.unlockFirst(lock, deadline)
		}
		if blocked {
			w := f.worker.Load()
			if w.own.current = w.pickNext(f); w.own.current != f && f.home == nil {
				w.own.left = f
			}
			for w.own.current != f {
				w = f.arrived(f.fiber.SwitchTo(w.own.current.fiber)) // another worker may have picked f
			}
			timedOut = f.resume()
			f.restore(outer, !timedOut)
		}
		if m, plain := lock.(*sync.Mutex); lock != nil && (!plain || !m.TryLock()) {
			relock(lock)
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

// sleep blocks f, which must be the calling fiber, until deadline has come. Notifications do not end it.
func (f *Fiber) sleep(deadline clock.Instant) {
	for clock.Now() < deadline {
		if f.hook != nil && !f.hookTold {
			f.sleepTold(deadline)
			return
		}
		f.block(deadline, 0)
		f.suspend()
	}
}

// block makes f, the calling fiber, Yielded if deadline is clock.Never and Waiting otherwise. how is
// parked or 0.
func (f *Fiber) block(deadline clock.Instant, how word) {
	old := f.load()
	if old&unpublished != 0 { // in an Unlock, see wait_unlock.go
		f.outer = f.takeMarks()
		old = old.in(Running)
	}
	f.store(f.blockedWord(old, deadline)|how, WhyWait)
	f.startWait(deadline)
}

// blockedWord is the word of f when it waits next, until deadline.
func (f *Fiber) blockedWord(old word, deadline clock.Instant) word {
	next := (old + oneWait).in(Yielded)
	if deadline != clock.Never {
		next = next.in(Waiting)
	}
	if f.home == nil {
		next |= unpublished
	}
	return next
}

// startWait counts f, which has just been blocked, and starts the timer of its wait.
func (f *Fiber) startWait(deadline clock.Instant) {
	w := f.worker.Load()
	w.blocked.add(1)
	if deadline != clock.Never {
		f.startTimer(w, deadline)
	}
}

// startTimer starts the timer of a wait of f, which runs on w.
func (f *Fiber) startTimer(w *Worker, deadline clock.Instant) {
	w.waiting.add(1)
	f.timer.deadline, f.timer.fiber, f.timer.wait = deadline, f, f.load().wait()
	if f.home != nil {
		w.own.timers.add(&f.timer)
	} else {
		w.timers.add(w, &f.timer)
	}
}

// suspend runs other fibers until f, the calling fiber, which is blocked, has been picked again. It tells whether
// its deadline has ended the wait.
//
// What switchTo does is written out here: docs/scheduler.md names the benchmark.
func (f *Fiber) suspend() (timedOut bool) {
	w := f.worker.Load()
	if w.own.current = w.pickNext(f); w.own.current != f && f.home == nil {
		w.own.left = f
	}
	for w.own.current != f {
		w = f.arrived(f.fiber.SwitchTo(w.own.current.fiber)) // another worker may have picked f
	}
	return f.resume()
}

// resume makes f Running, the calling fiber, which was Queued and has been picked. It tells whether
// its deadline has ended the wait.
func (f *Fiber) resume() (timedOut bool) {
	w, old := f.worker.Load(), f.load()
	timedOut = old&expired != 0
	if f.timer.fiber != nil {
		f.stopTimer(w, timedOut)
	}
	f.store(old.in(Running), WhyResume)
	w.switches.add(1)
	w.blocked.add(^uint64(0))
	if f.outer != 0 {
		f.restore(f.outer, !timedOut)
		f.outer = 0
	}
	if f.home == nil {
		w.scheduler.wakeIfOver()
	}
	return timedOut
}

// stopTimer ends the timer of the wait that is over. If it was the timer that has ended the wait, it is in no heap any more.
func (f *Fiber) stopTimer(w *Worker, expired bool) {
	switch {
	case expired:
	case f.home == nil:
		f.timer.stop()
	case f.timer.position > 0:
		w.own.timers.remove(&f.timer)
	}
	f.timer.fiber = nil
	w.waiting.add(^uint64(0))
}

// unblock ends the wait of f, the calling fiber, which has blocked but not been suspended yet, and tells whether it did. If
// it did not, f has been woken already.
func (f *Fiber) unblock() bool {
	for {
		old := f.load()
		if old&notified != 0 || !old.blocked() {
			return false
		}
		if f.swap(old, old.in(Queued), WhyNotify) {
			f.resume()
			w := f.worker.Load()
			w.timers.leave(w)
			return true
		}
	}
}

// wake ends the wait of f if it is blocked, and all bits of how are in its word: 0 for any wait. Otherwise it has
// been woken already, or is not blocked. It may be called from anywhere, and does not block.
func (f *Fiber) wake(how word) (woken bool) {
	for {
		old := f.load()
		if old&how != how {
			return false
		}
		switch {
		case old&unpublished != 0 && old&notified == 0 && old.state() != Queued:
			home := f.worker.Load()
			if f.mark(old, old|notified) {
				home.driver.notify()
				return true
			}
		case old&unpublished == 0 && old.blocked():
			if f.swap(old, old.in(Queued), WhyNotify) {
				f.deliver()
				return true
			}
		case how != 0 || f.hears(old):
			return false
		}
	}
}

// deliver puts f, which the caller has made Queued, where it will be run.
func (f *Fiber) deliver() {
	home := f.home
	if home == nil {
		f.maker.scheduler.migration.ready(f, nil)
		return
	}
	if home.running.Load() == uint64(fiber.Self()) || home.runsCaller() {
		home.mustOwn("deliver")
		home.own.ready.Push(f)
		return
	}
	home.mailbox.put(&f.letter)
	home.driver.notify()
}

// runsCaller tells whether the caller is a fiber that w runs, or runs on behalf of one.
func (w *Worker) runsCaller() bool {
	caller := Current()
	return caller != nil && caller.worker.Load() == w
}

// yield puts f, the calling fiber, behind the others that are to run, and lets a
// task be begun if there is any. With nothing to run it returns at once, and f stays Running.
func (f *Fiber) yield() {
	w := f.worker.Load()
	if !w.hasWork(f) && !w.pollAlone(f) {
		if w.own.outOfDuty == nil {
			return
		}
		if w.offDuty(f); !w.hasWork(f) {
			return
		}
	}
	old, outer := f.load(), word(0)
	if old&unpublished != 0 { // in an Unlock, see wait_unlock.go
		outer = f.takeMarks()
	}
	next := old.in(Queued)
	if f.home == nil {
		f.store(next|unpublished, WhyYield)
	} else {
		f.store(next, WhyYield)
		w.own.ready.Push(f)
		if w.own.ready.Peek() == f {
			w.own.resumed = mostResumed
		}
	}
	w.blocked.add(1)
	f.suspend()
	f.restore(outer, false)
}
