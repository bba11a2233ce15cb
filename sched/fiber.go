package sched

import (
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"fiberlab/fiber"
	"fiberlab/internal/clock"
	"fiberlab/internal/queue"
	"fiberlab/sched/park"
)

// Fiber is a stack on which a worker runs its tasks, one after the other. A task keeps its fiber while it waits, so the
// fiber stands for the task as long as that runs; later it stands for another one. The policy decides whether a fiber
// may migrate to another worker.
//
// The life of a fiber f:
//
//  1. A worker makes f, Idle, before it begins a task for which it holds no other idle fiber (pool.go).
//  2. Another fiber of the worker waits or becomes Idle, and switches to f. f is Running, and calls tasks (loop.go).
//  3. Its task waits: f is Yielded or Waiting. The worker's thread switches to another fiber (wait.go).
//  4. f is woken: it is Queued, and Running again when a worker has picked it.
//  5. Its task ends. f begins the next one, or becomes Idle if another fiber is to run.
//  6. f ends when the worker has enough idle fibers, or when the worker ends. The worker closes it (reap).
//
// state.go says who owns the stack in each state.
//
// A Fiber has 256 bytes, and those that each wait uses come first. So the allocator places it at the beginning of a
// cache line, and a wait touches as few lines as possible. Where 100,000 fibers wait, each line comes from memory.
type Fiber struct {
	word   atomic.Uint64          // see state.go
	worker atomic.Pointer[Worker] // on which it runs, or has run last
	self   atomic.Uint64          // its goroutine, by fiber.Self, from its first task to its end; else 0
	name   atomic.Pointer[string] // of its present task; nil: it has none
	fiber  *fiber.Fiber
	home   *Worker       // the only worker that may run it; nil: any, as the policy says
	token  atomic.Uint32 // 1: it has been unparked before it parked

	// The owner of the stack changes these, except record and timer.position. Others read some while the fiber is
	// blocked or Queued.
	told       uint8          // what its hook knows: notTold, inHook or told
	groupLocal bool           // its present task is GroupLocal
	ending     bool           // it shall end when it has no task to go on with
	since      clock.Instant  // when it has blocked last, by Scheduler.looked; scripts/fiberlab-gdb.py reads it
	hook       BlockHook      // its present task's; nil: none
	record     WorkerRecorder // its maker's; nil: off
	local      any            // the fiber-local slot: what its present task keeps there
	task       fiber.Task     // where it says what it runs
	residue    fiber.Residue  // what tasks leave on its goroutine
	spare      any            // left from its last wait for the next one
	awaits     park.Awaited   // what it is about to park for, if it has said so
	timer      timer

	message   queue.Message[runnable] // for its home's mailbox
	goroutine uint64                  // its goroutine's number, once self is set; for reports
	maker     *Worker                 // has made it; with id this names it
	id        int32                   // among its maker's fibers
	index     int32                   // in the scheduler's registry
}

// Current returns the scheduler's fiber that the caller runs on, or nil if there is none. It takes a few nanoseconds.
func Current() *Fiber {
	if f := fiber.Current(); f != nil {
		p, _ := f.Value().(*parker)
		return (*Fiber)(p)
	}
	return nil
}

// Worker returns the worker that runs f or has run it last, or nil if f belongs to no scheduler.
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
	return int(f.id)
}

// State returns the fiber's state at some moment during the call, or Idle if f belongs to no scheduler.
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
	return f.maker.name + " fiber " + strconv.Itoa(int(f.id))
}

// Wait blocks the calling task, which must run on f, until pred holds. lock must be held by the caller and guard what
// pred reads. It is released while the fiber is blocked, and held whenever pred is called and when Wait returns. pred
// is called first, and after each Notify.
//
// Without pred, Wait returns after one Notify; without lock, none is released. A fiber that is not blocked does not
// remember a Notify.
//
// The worker runs other fibers then. But to lock a sync.Mutex may block its thread: hold one for moments only, and
// do not wait elsewhere while you do. A lock of package fibersync may be held longer: it blocks no thread.
//
// The Unlock of lock runs on the fiber when that is blocked already. It may notify the fiber, but must not block or
// yield: those calls panic with an error that wraps ErrInWait, or return it.
//
// Wait panics with an error that wraps ErrNoFiber, ErrNotMade or ErrNotSelf if the caller does not run on f.
func (f *Fiber) Wait(lock sync.Locker, pred func() bool) { f.wait(lock, clock.Never, pred) }

// WaitFor is Wait with a deadline that is d from now. It reports whether pred held
// or, without pred, whether it was notified; false means that the deadline passed. It panics as Wait does.
func (f *Fiber) WaitFor(lock sync.Locker, d time.Duration, pred func() bool) bool {
	return f.wait(lock, clock.After(d), pred)
}

// WaitUntil is WaitFor with the deadline itself. One that was made from time.Now follows the monotonic clock. Any other
// is compared with the wall clock once, when the call begins. It panics as Wait does.
func (f *Fiber) WaitUntil(lock sync.Locker, deadline time.Time, pred func() bool) bool {
	return f.wait(lock, clock.At(deadline), pred)
}

// Notify makes a blocked fiber go on when a worker picks it. It does nothing to a fiber that runs, is to run or is
// idle. It may be called from anywhere, and does not block. It panics with an error that wraps ErrNoFiber or ErrNotMade
// if f belongs to no scheduler.
func (f *Fiber) Notify() {
	if f == nil || f.maker == nil {
		panic(f.misuse("notify"))
	}
	f.wake(0)
}

// Yield lets other fibers and a task go first. It returns at once if there are none. It panics with an error that wraps
// ErrNoFiber unless the caller runs on a scheduler's fiber. For goroutines and contexts there is fibersync.Yield.
func Yield() {
	f := Current()
	if f == nil {
		panic(f.misuse("yield"))
	}
	f.yield()
}

// Alone reports whether the caller's worker has nothing else to run now. Then Yield would return at once, unless the
// worker's device is ready. Alone does not block. It panics as Yield does if the caller runs on no scheduler's fiber.
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
	deadline := clock.After(d)
	f.wait(nil, deadline, func() bool { return clock.Now() >= deadline }) // a notification does not end it
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

// Get returns the scheduler that is bound to the caller, or nil. In a task, and in a blocking call of a task, that is
// the task's scheduler. In a goroutine it is the one that the goroutine has bound.
func Get() *Scheduler { return boundTo(Current()) }

// boundTo is Get for a caller that runs on f, or on no fiber if that is nil.
func boundTo(f *Fiber) *Scheduler {
	if f != nil {
		return f.maker.scheduler
	}
	if w := calledFor(); w != nil {
		return w.scheduler
	}
	return nil
}

// workerOf is the worker of s that runs the caller, or nil. The caller runs on f, or on no fiber if that is nil.
func (s *Scheduler) workerOf(f *Fiber) *Worker {
	if f != nil && f.maker.scheduler == s {
		return f.worker.Load()
	}
	return nil
}

// insideOf returns the worker that runs the caller or, if the caller runs a blocking call, the worker of the task that
// has made it. If that is no worker of s, it returns nil. The caller runs on f, or on no fiber if f is nil.
func (s *Scheduler) insideOf(f *Fiber) *Worker {
	if w := s.workerOf(f); w != nil {
		return w
	}
	if w := calledFor(); w != nil && w.scheduler == s {
		return w
	}
	return nil
}

// calledFor returns the worker of the task for which the calling goroutine runs a blocking call; nil if it runs none.
func calledFor() *Worker {
	if f, ok := park.Caller().(*parker); ok {
		return f.worker.Load()
	}
	return nil
}
