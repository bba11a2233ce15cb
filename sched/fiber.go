package sched

import (
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"fiberlab/fiber"
	"fiberlab/internal/clock"
	"fiberlab/internal/release"
	"fiberlab/sched/park"
)

// Fiber is a stack on which a worker runs its tasks, one after the other. A task
// keeps its fiber while it waits, so the fiber stands for the task as long as it runs;
// later the same fiber stands for another one. The policy decides whether it stays with one worker.
type Fiber struct {
	word   atomic.Uint64          // see word.go
	worker atomic.Pointer[Worker] // on which it runs, or has run last
	self   atomic.Uint64          // its goroutine, by fiber.Self, from its first task to its end; else 0
	token  atomic.Uint32          // 1: it has been unparked before it parked
	nested atomic.Uint32          // see wait_unlock.go

	present atomic.Uint64 // the number of its present task's name, plus 1; 0: it has no task. Others may read it

	fiber  *fiber.Fiber
	maker  *Worker // has made it; with id this names it
	id     int
	home   *Worker    // the only worker that may run it; nil: any, as the policy says
	record *recording // its maker's; nil: off
	hook   BlockHook  // its present task's; nil: none. See block_hook.go
	index  int        // in the scheduler's registry
	letter letter     // for its home's mailbox

	// Only the fiber itself uses these.
	timer      timer
	local      any           // the fiber-local slot: what its present task keeps there
	spare      any           // left from its last wait for the next one
	awaits     park.Awaited  // what it is about to park for, if it has said so
	task       fiber.Task    // where it says what it runs
	residue    fiber.Residue // what tasks leave on its goroutine
	groupLocal bool          // its present task is GroupLocal
	ending     bool          // it shall end when it has no task to go on with
	hookTold   bool          // a hook knows that it blocks, and has not been told that it goes on
	outer      word          // its marks before a wait that happens in an Unlock; see unlockFirst
}

// begins says that f, the calling fiber, has a task of that name from now on.
func (f *Fiber) begins(name nameNumber) { release.Store(&f.present, uint64(name)+1) }

// ends says that it has none.
func (f *Fiber) ends() { release.Store(&f.present, 0) }

// taskName is the name of the task that f has, if it has one, at some moment during the call.
func (f *Fiber) taskName() (name nameNumber, any bool) {
	n := f.present.Load()
	return nameNumber(max(n, 1) - 1), n > 0
}

// Current returns the fiber that the caller runs on, or nil if that is none of a
// scheduler's. It costs single nanoseconds.
func Current() *Fiber {
	if f := fiber.Current(); f != nil {
		p, _ := f.Value().(*parker)
		return (*Fiber)(p)
	}
	return nil
}

// Worker returns the worker that runs f or has run it last, or nil if f is none of a scheduler's.
func (f *Fiber) Worker() *Worker {
	if f == nil {
		return nil
	}
	return f.worker.Load()
}

// ID returns the fiber's number among the fibers of the worker that made it, 0 for the main fiber.
func (f *Fiber) ID() int {
	if f == nil {
		return 0
	}
	return f.id
}

// State returns the fiber's state at some moment during the call, Idle if f is none of
// a scheduler's.
func (f *Fiber) State() State {
	if f == nil || f.maker == nil {
		return Idle
	}
	return f.load().state()
}

// String names the fiber and the worker that has made it.
func (f *Fiber) String() string {
	if f == nil || f.maker == nil {
		return "no fiber"
	}
	return f.maker.name + " fiber " + strconv.Itoa(f.id)
}

// Wait blocks the calling task, which must run on f, until pred holds. lock must
// be held by the caller and guard what pred reads; it is released while the fiber is
// blocked, and held whenever pred is called and when Wait returns. pred is called
// first, and after each Notify.
//
// Without pred, Wait returns after one Notify; without lock, none is released. A Notify
// is not remembered by a fiber that is not blocked.
//
// The thread is never blocked: other fibers of the worker go on with it. So hold lock for moments
// only, and do not wait for anything else meanwhile; unless it is a lock of package fibersync, which
// blocks no thread either.
//
// Wait panics with an error that wraps ErrNoFiber, ErrNotMade or ErrNotSelf if the caller does not run on f.
func (f *Fiber) Wait(lock sync.Locker, pred func() bool) { f.wait(lock, clock.Never, pred) }

// WaitFor is Wait with a deadline that is d from now. It tells whether pred held
// or, without pred, whether it was notified; false means that the deadline passed. It panics as Wait does.
func (f *Fiber) WaitFor(lock sync.Locker, d time.Duration, pred func() bool) bool {
	return f.wait(lock, clock.After(d), pred)
}

// WaitUntil is WaitFor with the deadline itself. It is taken by the monotonic clock if
// deadline has a reading of it, as what comes from time.Now has. It panics as Wait does.
func (f *Fiber) WaitUntil(lock sync.Locker, deadline time.Time, pred func() bool) bool {
	return f.wait(lock, clock.At(deadline), pred)
}

// Notify makes a blocked fiber go on when its turn comes. It does nothing to one
// that runs, is to run or is idle. It may be called from anywhere, and does not block. It panics with an
// error that wraps ErrNoFiber or ErrNotMade if f is none of a scheduler's.
func (f *Fiber) Notify() {
	if f == nil || f.maker == nil {
		panic(f.misuse("notify"))
	}
	f.wake(0)
}

// Yield lets other fibers and a task go first. It returns at once if there
// are none. It panics with an error that wraps ErrNoFiber unless the caller runs on a
// scheduler's fiber. For goroutines and contexts there is fibersync.Yield.
func Yield() {
	f := Current()
	if f == nil {
		panic(f.misuse("yield"))
	}
	f.yield()
}

// Alone tells whether the caller's worker has nothing else to run just now, so that Yield would return at once. It does not block. It panics with an
// error that wraps ErrNoFiber unless the caller runs on a scheduler's fiber.
func Alone() bool {
	f := Current()
	if f == nil {
		panic(f.misuse("alone"))
	}
	return !f.worker.Load().hasWork(f)
}

// Sleep blocks the calling task, not its thread, for d. It panics with an error that
// wraps ErrNoFiber unless the caller runs on a scheduler's fiber. For goroutines and contexts there is fibersync.Sleep.
func Sleep(d time.Duration) {
	f := Current()
	if f == nil {
		panic(f.misuse("sleep"))
	}
	f.sleep(clock.After(d))
}

// misuse is the error of a call on f that its caller may not make.
func (f *Fiber) misuse(op string) error {
	switch {
	case f == nil:
		return fmt.Errorf("sched: %s: %w", op, ErrNoFiber)
	case f.maker == nil:
		return fmt.Errorf("sched: %s: %w", op, ErrNotMade)
	}
	return fmt.Errorf("sched: %s: %v, called on %v: %w", op, f, Current(), ErrNotSelf)
}
