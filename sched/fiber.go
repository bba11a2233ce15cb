package sched

import (
	"fmt"
	"strconv"
	"sync"
	"time"

	"fiberlab/fiber"
	"fiberlab/internal/clock"
	"fiberlab/sched/park"
)

// Fiber is a stack on which a worker runs its tasks, one after the other. A task
// keeps its fiber while it waits, so the fiber stands for the task as long as it runs;
// later the same fiber stands for another one. It belongs to one worker for ever
// and runs on that worker's thread only.
type Fiber struct {
	fiber  *fiber.Fiber
	worker *Worker
	id     int
	place  any          // what its present task keeps there; only the task itself uses it
	spare  any          // left from its last wait for the next one
	awaits park.Awaited // what it is about to park for, if it has said so

	taskName nameNumber    // of its present task; only the task itself uses it
	residue  fiber.Residue // what tasks leave on its goroutine
	task     fiber.Task    // where it says what it runs

	// Guarded by the worker's lock.
	state    State
	timedOut bool          // its last wait ended by the deadline
	leaving  bool          // it releases the caller's lock, and is not blocked yet: see unlockFirst
	notified bool          // somebody has notified it meanwhile
	parked   bool          // it is in Park
	permit   bool          // it has been unparked before it parked
	ending   bool          // it shall end when it has no task to go on with
	deadline clock.Instant // while Waiting
	position int           // in the heap of waiting fibers
	index    int           // in the list of all fibers
}

// Current returns the fiber that the caller runs on, or nil if that is none of a
// scheduler's. It costs single nanoseconds.
func Current() *Fiber {
	if f := fiber.Current(); f != nil {
		s, _ := f.Value().(*Fiber)
		return s
	}
	return nil
}

// Worker returns the worker that f belongs to, or nil if f is none of a scheduler's.
func (f *Fiber) Worker() *Worker {
	if f == nil {
		return nil
	}
	return f.worker
}

// ID returns the fiber's number on its worker, 0 for the main fiber.
func (f *Fiber) ID() int {
	if f == nil {
		return 0
	}
	return f.id
}

// State returns the fiber's state at some moment during the call, Idle if f is none of
// a scheduler's. The worker's lock must not be held.
func (f *Fiber) State() State {
	if f == nil || f.worker == nil {
		return Idle
	}
	f.worker.work.lock()
	defer f.worker.work.unlock()
	return f.state
}

// String names the fiber and its worker.
func (f *Fiber) String() string {
	if f == nil || f.worker == nil {
		return "no fiber"
	}
	return f.worker.name + " fiber " + strconv.Itoa(f.id)
}

// Wait blocks the calling task, which must run on f, until pred holds. lock must
// be held by the caller and guard what pred reads; it is released while the fiber is
// blocked, and held whenever pred is called and when Wait returns. pred is called
// first, and after each Notify.
//
// Without pred, Wait returns after one Notify; without lock, none is released. A Notify
// is not remembered by a fiber that is not blocked.
//
// The thread is never blocked: other fibers of the worker go on with it. So lock is
// to be held for moments only, and by nobody who waits for something else meanwhile;
// unless it is one of package fibersync, which blocks no thread either.
func (f *Fiber) Wait(lock sync.Locker, pred func() bool) { f.wait(lock, clock.Never, pred) }

// WaitFor is Wait with a deadline that is d from now. It tells whether pred held
// or, without pred, whether it was notified; false means that the deadline passed.
func (f *Fiber) WaitFor(lock sync.Locker, d time.Duration, pred func() bool) bool {
	return f.wait(lock, clock.After(d), pred)
}

// WaitUntil is WaitFor with the deadline itself. It is taken by the monotonic clock if
// deadline has a reading of it, as what comes from time.Now has.
func (f *Fiber) WaitUntil(lock sync.Locker, deadline time.Time, pred func() bool) bool {
	return f.wait(lock, clock.At(deadline), pred)
}

// Notify makes a blocked fiber go on when its turn comes. It does nothing to one
// that runs, is to run or is idle. It may be called from anywhere, and blocks no
// longer than a queue operation takes. No worker's lock must be held. It panics with an
// error that wraps ErrNoFiber or ErrNotMade if f is none of a scheduler's.
func (f *Fiber) Notify() {
	if f == nil || f.worker == nil {
		panic(f.misuse("notify"))
	}
	f.worker.enqueueFiber(f)
}

// Yield lets the other fibers and a task of the worker go first. It returns at once if there
// are none. It panics with an error that wraps ErrNoFiber unless the caller runs on a
// scheduler's fiber.
func Yield() {
	f := Current()
	if f == nil {
		panic(f.misuse("yield"))
	}
	f.worker.yield(f)
}

// Sleep blocks the calling task, not its thread, for d. It panics with an error that
// wraps ErrNoFiber unless the caller runs on a scheduler's fiber.
func Sleep(d time.Duration) {
	f := Current()
	if f == nil {
		panic(f.misuse("sleep"))
	}
	w, deadline := f.worker, clock.After(d)
	w.work.lock()
	for clock.Now() < deadline {
		w.suspend(deadline)
	}
	w.work.unlock()
}

// misuse is the error of a call on f by somebody who may not make it.
func (f *Fiber) misuse(op string) error {
	switch {
	case f == nil:
		return fmt.Errorf("sched: %s: %w", op, ErrNoFiber)
	case f.worker == nil:
		return fmt.Errorf("sched: %s: %w", op, ErrNotMade)
	}
	return fmt.Errorf("sched: %s: %v, called on %v: %w", op, f, Current(), ErrNotSelf)
}
