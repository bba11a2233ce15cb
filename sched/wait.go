package sched

import (
	"fmt"
	stackdump "runtime/debug"
	"sync"
	"syscall"

	"fiberlab/fiber"
	"fiberlab/internal/clock"
	"fiberlab/internal/spinlock"

	"golang.org/x/sys/unix"
)

// How a fiber waits, and how it goes on, in four steps:
//
//   - block: its word says that it is blocked. From now on others may wake it.
//   - suspend: its worker picks another fiber and switches to it. suspend returns when the fiber has been picked again.
//   - endWait: a notification or its deadline makes it Queued, once, and puts it where it will be run.
//   - resume: it is Running again.
//
// No wake-up is lost. The waiter checks its predicate under a lock, and is blocked before it releases the lock. A party
// that makes the predicate true holds the lock for that, and notifies later. If it had the lock before the waiter
// checked, the predicate holds, and the waiter does not block. If it has the lock afterwards, the waiter is blocked,
// and wake ends the wait. Park has a token for the lock: Unpark wakes a fiber that is parked, or else leaves the
// token; Park blocks, and then looks for the token.
//
// A fiber that is blocked still runs until suspend has switched, and can be woken before its registers are saved. If it
// may migrate, it is unpublished for that time; see word.

// wait is Wait with a deadline; clock.Never is none. f must be the calling fiber. wait returns what WaitFor returns.
func (f *Fiber) wait(lock sync.Locker, deadline clock.Instant, pred func() bool) bool {
	if f == nil || f.self.Load() != uint64(fiber.Self()) && f != Current() {
		panic(f.misuse("wait"))
	}
	for pred == nil || !pred() {
		if f.hook != nil && f.told == notTold {
			return f.waitTold(lock, deadline, pred)
		}
		f.block(deadline, 0)
		if m, plain := lock.(*sync.Mutex); plain {
			m.Unlock()
		} else if lock != nil {
			f.unlock(lock)
		}
		// suspend, written out: one more call and return cost a tenth of a switch, see BenchmarkPingPong.
		w := f.worker.Load()
		if w.local.current = w.pickNext(f); w.local.current != f && f.home == nil {
			w.local.left = f
		}
		for w.local.current != f {
			w = f.arrived(f.fiber.SwitchTo(w.local.current.fiber))
		}
		timedOut := f.resume()
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

// block makes f, the calling fiber, Yielded if deadline is clock.Never and Waiting otherwise, counts it, and starts the
// timer of its wait. how is parked or 0. It panics if inWait is true.
func (f *Fiber) block(deadline clock.Instant, how word) {
	if f.inWait() {
		f.awaits = nil // it does not wait
		panic(f.nested("wait"))
	}
	next := (f.load() + oneWait).in(Yielded)
	if deadline != clock.Never {
		next = next.in(Waiting)
	}
	if f.home == nil {
		next |= unpublished
	}
	f.store(next|how, WhyWait)
	w := f.worker.Load()
	f.since = clock.Instant(w.scheduler.looked.Load())
	w.blocked.add(1)
	if deadline != clock.Never {
		w.waiting.add(1)
		f.timer.deadline, f.timer.fiber, f.timer.wait = deadline, f, next.wait()
		w.timers.add(w, &f.timer)
	}
}

// inWait reports whether f, the calling fiber, must not block: it is blocked already, or its hook is being called. The
// caller is then the Unlock of the lock that f waits with, a Device, a BlockHook or Config.Exhausted.
func (f *Fiber) inWait() bool { return f.load().state() != Running || f.told == inHook }

// nested is the error of a call, named op, that may block f, while inWait is true.
func (f *Fiber) nested(op string) error { return fmt.Errorf("sched: %s: %v: %w", op, f, ErrInWait) }

// unlock releases the lock of f, the calling fiber, which is blocked but still runs. The Unlock may run any code that
// does not block; it may notify f. If it panics, f is Running again before the panic leaves the wait.
func (f *Fiber) unlock(lock sync.Locker) {
	returned := false
	defer func() {
		if !returned && !f.unblock() {
			f.suspend()
		}
	}()
	lock.Unlock()
	returned = true
}

// suspend runs other fibers until f, the calling fiber, which is Queued or blocked, has been picked again. It reports
// whether its deadline has ended the wait.
func (f *Fiber) suspend() (timedOut bool) {
	w := f.worker.Load()
	next := w.pickNext(f)
	if next != f && f.home == nil {
		w.local.left = f
	}
	f.switchTo(next)
	return f.resume()
}

// resume makes f, the calling fiber, Running. f is Queued, and has been picked or not been suspended yet. resume stops
// the timer of the wait, and reports whether the deadline has ended the wait.
func (f *Fiber) resume() (timedOut bool) {
	w, old := f.worker.Load(), f.load()
	timedOut = old&expired != 0
	if f.timer.fiber != nil {
		if !timedOut { // else it is in no heap any more
			w.timers.stop(&f.timer)
		}
		f.timer.fiber = nil
		w.waiting.add(^uint64(0))
	}
	f.store(old.in(Running), WhyResume)
	w.switches.add(1)
	w.blocked.add(^uint64(0))
	return timedOut
}

// unblock ends the wait of f, the calling fiber, which has blocked but not been suspended yet, and reports whether it
// did. If it did not, f has been woken already.
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

// wake ends the wait of f by a notification, and reports whether it did. If how is parked, it ends only a wait by Park;
// if how is 0, it ends any wait. It may be called from anywhere, and does not block.
func (f *Fiber) wake(how word) (woken bool) { return f.endWait(how, how, 0, WhyNotify) }

// endWait ends the wait of f because of why, and returns true. It does nothing and returns false if f is not blocked,
// has been woken already, or its word does not have want in the bits of mask. The word gets the bits of also. If f is
// unpublished, endWait sets the mark notified and notifies the worker of f; later publish, or f itself, makes f Queued.
// Any thread may call it. It does not block.
func (f *Fiber) endWait(mask, want, also word, why Why) bool {
	for {
		old := f.load()
		switch {
		case !old.blocked() || old&notified != 0 || old&mask != want:
			return false
		case old&unpublished != 0:
			w := f.worker.Load()
			if f.mark(old, old|notified|also) {
				w.word.Notify()
				return true
			}
		case f.swap(old, old.in(Queued)|also, why):
			f.deliver()
			return true
		}
	}
}

// deliver puts f, which the caller has made Queued, where it will be run. Any thread may call it. It does not block.
func (f *Fiber) deliver() {
	home := f.home
	if home == nil {
		s, caller := f.maker.scheduler, f.worker.Load()
		if !caller.runsCaller() {
			caller = s.workerOf(Current())
		}
		s.migration.ready(f, caller)
		return
	}
	if home.runsCaller() {
		home.local.ready.Push(f)
		return
	}
	home.mailbox.Put(&f.message, true)
	home.word.Notify()
}

// runsCaller reports whether the caller runs on the fiber that w runs, or in a coroutine (iter.Pull) that this fiber
// has called. Only Current, which takes longer, recognizes such a coroutine. Any thread may call runsCaller.
func (w *Worker) runsCaller() bool {
	if w.running.Load() == uint64(fiber.Self()) {
		return true
	}
	caller := Current()
	return caller != nil && caller.worker.Load() == w
}

// yield puts f, the calling fiber, behind the others that are to run, and lets a waiting task begin. With nothing else
// to run it returns at once, and f stays Running. It panics if inWait is true.
func (f *Fiber) yield() {
	if f.inWait() {
		panic(f.nested("yield"))
	}
	w := f.worker.Load()
	if !w.hasWork(f) && !w.pollAlone(f) {
		return
	}
	next := f.load().in(Queued)
	if f.home == nil {
		f.store(next|unpublished, WhyYield)
	} else {
		f.store(next, WhyYield)
		w.local.ready.Push(f)
		if w.local.ready.Peek() == f {
			w.local.resumed = mostResumed
		}
	}
	w.blocked.add(1)
	f.suspend()
}

// relock tries a lock mostPauses times, and then lets other threads run. It does so mostYields times before it blocks
// its thread.
const (
	mostYields = 8
	mostPauses = 32
)

// yieldThread lets other threads run on the caller's processor. Tests replace it.
var yieldThread = func() { _, _, _ = syscall.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0) }

// relock locks what the calling fiber has released in order to wait, when the wait has ended. It spins only for a
// sync.Mutex: that would block the worker's thread. Any other lock it locks at once.
//
// A fiber is often notified by a thread that still holds the lock. If the fiber's worker sleeps, the kernel may run it
// on the notifier's processor at once. Then the notifier has no processor, in the middle of Notify. If the fiber now
// blocks on the sync.Mutex, the worker's thread blocks too, and the Go runtime needs two more threads to find and wake
// it. A yield of the processor takes two microseconds, and lets the notifier release the lock. A notifier that still
// has a processor releases the lock sooner. So relock first spins for about that time.
func relock(lock sync.Locker) {
	if m, plain := lock.(*sync.Mutex); plain {
		for range mostYields {
			for range mostPauses {
				if m.TryLock() {
					return
				}
				spinlock.Pause()
			}
			yieldThread()
		}
	}
	lock.Lock()
}

// BlockHook is told when the fiber of a task is about to block, and when it goes on. For example, a task may keep new
// work to itself, to save locks. Its hook gives that work to the other workers before the fiber blocks.
//
// Both methods run on the fiber, and must not block: Wait, Yield and the primitives panic there. A panic in them ends
// the program, since it must not unwind a primitive that has queued the fiber already.
type BlockHook interface {
	// BeforeBlock is called just before the fiber blocks: the awaited event has not happened, and the fiber's worker
	// has run nothing else yet. It may notify fibers, enqueue tasks as far as there is room (TryEnqueue), and take, for
	// moments, locks that its caller does not hold. The lock that was given to Wait is held.
	BeforeBlock()

	// AfterBlock is called when the fiber goes on, perhaps on another worker, before the call that has blocked it
	// returns. The lock that was given to Wait is held again.
	AfterBlock()
}

// OnBlock sets the hook of the calling task, which must run on f, and returns the one that it had; nil is none. The
// hook is told of each call that blocks the fiber, by whatever primitive, until the task ends, however it ends. Wait
// tells it once, even if Wait blocks several times; a primitive tells it at each Park. The hook is not told of Yield,
// nor of a call that need not wait. A hook that is set while another one is told begins with the next block.
//
// It does not block. It panics with an error that wraps ErrNoFiber, ErrNotMade or ErrNotSelf if the caller does not run
// on f. The main fiber of a goroutine that is bound keeps its hook until Unbind, of which it is not told.
func (f *Fiber) OnBlock(hook BlockHook) (previous BlockHook) {
	if f == nil || f != Current() {
		panic(f.misuse("set the hook of"))
	}
	previous, f.hook = f.hook, hook
	return previous
}

// What the hook of a fiber knows of the call that the fiber makes.
const (
	notTold = iota // nothing
	inHook         // it is being told
	told           // that the call blocks
)

// waitTold is wait that also calls the hook of f, the calling fiber: before f blocks, and when f goes on.
func (f *Fiber) waitTold(lock sync.Locker, deadline clock.Instant, pred func() bool) bool {
	defer f.afterBlock(f.beforeBlock()) // pred may panic
	return f.wait(lock, deadline, pred)
}

// beforeBlock calls BeforeBlock of the hook of f, the calling fiber, and returns the hook.
func (f *Fiber) beforeBlock() BlockHook {
	hook := f.hook
	f.told = inHook
	mustReturn("BeforeBlock", f, hook.BeforeBlock)
	f.told = told
	return hook
}

// afterBlock calls AfterBlock of the hook that beforeBlock has returned, when f, the calling fiber, goes on.
func (f *Fiber) afterBlock(hook BlockHook) {
	f.told = inHook
	mustReturn("AfterBlock", f, hook.AfterBlock)
	f.told = notTold
}

// mustReturn calls a function of the program: of a hook, a device or a Config. name and where are for the message. If
// the function panics, or calls Goexit, the program ends: the frames below it must not be unwound.
func mustReturn(name string, where fmt.Stringer, call func()) {
	returned := false
	defer func() {
		if returned {
			return
		}
		cause := recover()
		if cause == nil {
			cause = ErrGoexit
		}
		fatal(fmt.Sprintf("%s on %v: %v", name, where, cause))
	}()
	call()
	returned = true
}

// fatal ends the program by a panic with that text and the caller's stack. It unwinds no frames of the caller, and does
// not return.
func fatal(text string) {
	text = fmt.Sprintf("%s\n\n%s", text, stackdump.Stack())
	go panic(text)
	select {}
}
