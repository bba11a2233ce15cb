package uring

import (
	"context"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"fiberlab/sched/park"
)

// awaited is an operation that one fiber or goroutine waits for, and may give up. It serves one operation after
// another, without an allocation: it must not be copied, and only one caller at a time may use it. The zero value is
// ready.
type awaited struct {
	request
	result completion

	// cancel ends the request; it is made when it is needed. Only the waiter begins it, at most once an operation, and
	// it is over before await returns: so it never meets the next operation.
	cancel *request

	left atomic.Int32 // completions that the waiter waits for: of the request, and of cancel

	mu     sync.Mutex      // for parker, which only the waiter changes
	parker park.Parker     // of the present waiter, or of the last one
	own    *park.Goroutine // for waiters that are goroutines
}

// ending tells the waiter for an operation when to give it up.
type ending interface {
	// ended returns why the wait is over, or nil and when it has to be asked again at the latest; the zero time is
	// never. If the answer changes meanwhile, the waiter is told by awaited.nudge. The waiter calls it.
	ended() (again time.Time, why error)
}

// endless is the ending of a wait that nothing ends early.
type endless struct{}

func (endless) ended() (time.Time, error) { return time.Time{}, nil }

// await submits op to e, and blocks its caller until op is over: a fiber, or a goroutine. All that op points to must
// stay in its place for that long. When end says so, op is cancelled; await still returns only when the kernel is done
// with it.
//
// The error is why op has not been carried out: that of end, or ErrClosed if the engine has ended. If op was quicker
// than its end, there is no error: then the completion is what the kernel says, and the bytes, or the descriptor, that
// came are the caller's. An error of the kernel is in the completion.
func (a *awaited) await(e *Engine, op entry, end ending) (completion, error) {
	fiber := a.attend()
	if fiber != nil && !e.mine() { // its own scheduler does not see the engine
		elsewhere := &fiber.Shared().BlockingCalls
		elsewhere.Add(1)
		defer elsewhere.Add(-1)
	}
	a.entry, a.cancelled = op, false
	a.left.Swap(1) // from now on it is told when the answer of end changes
	again, why := end.ended()
	if why == nil {
		why = e.submit(&a.request)
	}
	if why != nil {
		a.left.Store(0)
		return completion{}, why
	}
	for a.left.Load() > 0 {
		if fiber != nil {
			fiber.Awaits(a)
		}
		a.parker.Park(again)
		if why == nil && a.left.Load() > 0 {
			if again, why = end.ended(); why != nil {
				a.giveUp(e)
			}
		}
	}
	switch errno := syscall.Errno(-a.result.result); {
	// EINTR: a thread of the kernel was in the system call
	case why != nil && (errno == syscall.ECANCELED || errno == syscall.EINTR):
		return completion{}, why
	case errno == syscall.ECANCELED && e.engine.takesNone(): // else a file system has said so
		return completion{}, ErrClosed
	}
	return a.result, nil
}

// waitFor blocks its caller until arrived returns true, or until end says so: then it returns why. It is for what comes
// by a request of e that is internal and completes again and again: what makes arrived true calls nudge afterwards.
// While the caller waits, e counts one more operation.
func (a *awaited) waitFor(e *Engine, arrived func() bool, end ending) error {
	fiber := a.attend()
	if fiber != nil && !e.mine() {
		elsewhere := &fiber.Shared().BlockingCalls
		elsewhere.Add(1)
		defer elsewhere.Add(-1)
	}
	e.engine.running.Add(1)
	defer e.waited()
	a.left.Swap(1) // from now on it is told
	defer a.left.Store(0)
	for !arrived() {
		again, why := end.ended()
		if why != nil {
			return why
		}
		if fiber != nil {
			fiber.Awaits(a)
		}
		a.parker.Park(again)
	}
	return nil
}

// waited counts the operation down that waitFor has counted. On the engine's thread the worker looks next whether
// anything is left; on another one the caller has it look.
func (e *Engine) waited() {
	e.engine.running.Add(-1)
	if e.engine.emptyIO() && !e.mine() {
		e.engine.kick()
	}
}

// attend makes the caller the waiter. It returns nil if that is a goroutine.
func (a *awaited) attend() park.Scheduled {
	if a.completed == nil {
		a.completed = a.over
	}
	p := park.Current()
	fiber, _ := p.(park.Scheduled)
	if fiber == nil {
		if a.own == nil {
			a.own = park.NewGoroutine()
		}
		p = a.own
	}
	if p != a.parker {
		a.mu.Lock()
		a.parker = p
		a.mu.Unlock()
	}
	return fiber
}

// over counts a completion. The waiter goes on with the last one.
func (a *awaited) over(c completion) {
	a.result = c
	a.count()
}

func (a *awaited) count() {
	waiter := a.parker // from the last completion on, there may be another one
	if a.left.Add(-1) == 0 {
		waiter.Unpark()
	}
}

// giveUp has the request cancelled.
func (a *awaited) giveUp(e *Engine) {
	if a.cancel == nil {
		a.cancel = &request{internal: true, cancels: &a.request, completed: func(completion) { a.count() }}
	}
	a.cancel.entry, a.cancel.cancelled = entry{op: opCancel}, true
	a.left.Add(1)
	if e.submit(a.cancel) != nil { // the engine has ended, and the request with it
		a.left.Add(-1)
	}
}

// nudge has the waiter, if there is one, ask once more whether the wait has ended. It may be called from anywhere, and
// does not block.
func (a *awaited) nudge() {
	if a.left.Load() == 0 {
		return
	}
	a.mu.Lock()
	waiter := a.parker
	a.mu.Unlock()
	waiter.Unpark()
}

// Awaited implements park.Awaited.
func (a *awaited) Awaited() (string, uintptr) { return "input or output", 0 }

// spare are awaited that operations without a descriptor of package uring use in turn.
var spare = sync.Pool{New: func() any { return new(awaited) }}

// do is doContext without an end.
func (e *Engine) do(op entry) (completion, error) {
	a := spare.Get().(*awaited)
	defer spare.Put(a)
	return a.await(e, op, endless{})
}

// doContext submits an operation and waits until it is over, or has been cancelled because ctx is done: then the error
// is context.Cause(ctx). See awaited.await for the rest.
func (e *Engine) doContext(ctx context.Context, op entry) (completion, error) {
	if ctx.Done() == nil {
		return e.do(op)
	}
	a := spare.Get().(*awaited)
	defer spare.Put(a)
	stop := context.AfterFunc(ctx, a.nudge)
	defer stop()
	return a.await(e, op, until{ctx})
}

// until ends a wait when its context is done.
type until struct{ ctx context.Context }

func (u until) ended() (time.Time, error) {
	return time.Time{}, context.Cause(u.ctx)
}
