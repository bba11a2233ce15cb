package sched

import (
	"errors"

	"fiberlab/internal/fault"
	"fiberlab/sched/park"
	"fiberlab/sched/report"
)

// What can be wrong with a call. An error of this package says what it is about, and wraps one of these or an error
// from elsewhere, such as context.Canceled. Calls about a fiber that return no error, such as Yield, Fiber.Wait and
// Fiber.Notify, panic with such an error if they are misused.
var (
	ErrNegative = park.ErrNegative
	ErrWorkers  = errors.New(
		"a program can have 8000 workers at a time, each with a thread, and Go ends it at 10000 threads: give fewer",
	)
	ErrAffinity = errors.New("bad CPU affinity")
	ErrBubble   = errors.New(
		"a bubble of testing/synctest cannot hold a worker, which waits in the kernel: make and bind the scheduler " +
			"outside, before synctest.Test",
	)
	ErrPolicy     = errors.New("no such policy")
	ErrNilTask    = park.ErrNilFunc
	ErrNilContext = park.ErrNilContext
	ErrNoWorkers  = errors.New(
		"the scheduler has no multi-threaded workers: bind the calling goroutine first, or give Config.Workers",
	)
	ErrNoSuchWorker = errors.New("no worker has that number: they are numbered from 0")
	ErrNoSuchGroup  = errors.New("no scheduling group has that number: they are numbered from 0")
	ErrSameThread   = errors.New(
		"a SameThread task stays on its caller's worker, and cannot be queued in a group: leave the flag out, or call " +
			"Enqueue",
	)
	ErrNotBound = errors.New(
		"no scheduler is bound to the calling goroutine: call Bind first, run inside a task, or keep what sched.Get " +
			"returns there for other goroutines",
	)
	ErrBound = errors.New(
		"a scheduler is bound to the calling goroutine already: unbind it first, or in a task use what sched.Get returns",
	)
	ErrNotUnbound = errors.New("a goroutine that was bound has ended: call Unbind before it ends, by defer")
	ErrInTask     = errors.New("called from inside a task: call it on the goroutine that called Bind or New")
	ErrFull       = errors.New(
		"as many tasks wait to begin as Config.MaxQueued allows: try again later, or call Enqueue, which waits",
	)
	ErrOverload = errors.New(
		"the scheduler is overloaded: enqueue fewer tasks at a time, or give it a larger Config.MaxQueued or more " +
			"workers",
	)
	ErrClosed   = errors.New("the scheduler is closed: make a new one")
	ErrDeadlock = report.ErrDeadlock
	ErrStalled  = report.ErrStalled
	ErrNoFiber  = park.ErrNoFiber
	ErrNotMade  = park.ErrNotMade
	ErrNotSelf  = errors.New("a fiber can only make itself wait: call it on sched.Current()")
	ErrInWait   = errors.New(
		"the fiber is about to wait already: the Unlock of the lock that it waits with, the functions of a Device or a " +
			"BlockHook, and Config.Exhausted must not block or yield",
	)
	ErrGoexit = park.ErrGoexit
)

var errClosedBefore = fault.Of(ErrClosed, "an earlier call has closed the scheduler: close it once")
