package uring

import (
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"fiberlab/sched/park"
)

// Operation is an operation that one fiber or goroutine waits for, and may give up. It serves one operation after
// another, without an allocation: it must not be copied, and only one caller at a time may use it. The zero value is
// ready.
type Operation struct {
	Request
	result Completion

	// cancel ends the request; it is made when it is needed. Only the waiter begins it, at most once an operation, and
	// it is over before Await returns: so it never meets the next operation.
	cancel *Request

	left atomic.Int32 // completions that the waiter waits for: of the request, and of cancel

	mu        sync.Mutex      // for parker and engine, which only the waiter changes
	parker    park.Parker     // of the present waiter, or of the last one
	engine    *Engine         // that it waits for
	goroutine *park.Goroutine // for waiters that are goroutines
}

// Ending decides when the waiter for an operation gives it up.
type Ending interface {
	// Ended returns why the wait is over, or nil and when it has to be asked again at the latest; the zero time is
	// never. If the answer changes before, Operation.Nudge wakes the waiter. The waiter calls it.
	Ended() (again time.Time, why error)
}

// endless is the ending of a wait that nothing ends early.
type endless struct{}

func (endless) Ended() (time.Time, error) { return time.Time{}, nil }

// Await submits op to e, and blocks its caller until op is over: a fiber, or a goroutine. All that op points to must
// stay in its place for that long. When end says so, op is cancelled; Await still returns only when the kernel is done
// with it.
//
// The error is why op has not been carried out: end's answer, or ErrClosed if the engine has ended. If op was quicker
// than its end, there is no error: then the completion is what the kernel says, and the bytes, or the descriptor, that
// came are the caller's. An error of the kernel is in the completion.
func (a *Operation) Await(e *Engine, op Entry, end Ending) (Completion, error) {
	fiber := a.attend(e)
	if fiber != nil && !e.Mine() { // its own scheduler does not see the engine
		elsewhere := &fiber.Shared().BlockingCalls
		elsewhere.Add(1)
		defer elsewhere.Add(-1)
	}
	a.Entry, a.Ending = op, false
	a.left.Swap(1) // from now on Nudge wakes it
	again, why := end.Ended()
	if why == nil {
		why = e.Submit(&a.Request)
	}
	if why != nil {
		a.left.Store(0)
		return Completion{}, why
	}
	for a.left.Load() > 0 {
		if fiber != nil {
			fiber.Awaits(a)
		}
		a.parker.Park(again)
		if why == nil && a.left.Load() > 0 {
			if again, why = end.Ended(); why != nil {
				a.giveUp(e)
			}
		}
	}
	switch errno := syscall.Errno(-a.result.Result); {
	// EINTR: a thread of the kernel was in the system call
	case why != nil && (errno == syscall.ECANCELED || errno == syscall.EINTR):
		return Completion{}, why
	case errno == syscall.ECANCELED && e.Refuses(): // else a file system has said so
		return Completion{}, ErrClosed
	}
	return a.result, nil
}

// WaitFor blocks its caller until arrived returns true, or until end says so: then it returns why. It is for what comes
// by a request of e that is internal and completes again and again: what makes arrived true calls Nudge afterwards.
// While the caller waits, e counts one more operation.
func (a *Operation) WaitFor(e *Engine, arrived func() bool, end Ending) error {
	fiber := a.attend(e)
	if fiber != nil && !e.Mine() {
		elsewhere := &fiber.Shared().BlockingCalls
		elsewhere.Add(1)
		defer elsewhere.Add(-1)
	}
	e.running.Add(1)
	defer e.waited()
	a.left.Swap(1) // from now on Nudge wakes it
	defer a.left.Store(0)
	for !arrived() {
		again, why := end.Ended()
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

// waited counts the operation down that WaitFor has counted. On the engine's thread the worker looks next whether
// anything is left; on another one the caller has it look.
func (e *Engine) waited() {
	e.running.Add(-1)
	if e.Idle() && !e.Mine() {
		e.Kick()
	}
}

// attend makes the caller the waiter for what e does. It returns nil if that is a goroutine.
func (a *Operation) attend(e *Engine) park.Scheduled {
	if a.Completed == nil {
		a.Completed = a.over
	}
	p := park.Current()
	fiber, _ := p.(park.Scheduled)
	if fiber == nil {
		if a.goroutine == nil {
			a.goroutine = park.NewGoroutine()
		}
		p = a.goroutine
	}
	if p != a.parker || e != a.engine {
		a.mu.Lock()
		a.parker, a.engine = p, e
		a.mu.Unlock()
	}
	return fiber
}

// over counts a completion. The waiter goes on with the last one.
func (a *Operation) over(c Completion) {
	a.result = c
	a.count()
}

func (a *Operation) count() {
	waiter, e := a.parker, a.engine // from the last completion on, there may be another one
	if a.left.Add(-1) == 0 {
		e.unpark(waiter)
	}
}

// giveUp has the request cancelled.
func (a *Operation) giveUp(e *Engine) {
	if a.cancel == nil {
		a.cancel = &Request{Internal: true, Cancels: &a.Request, Completed: func(Completion) { a.count() }}
	}
	a.cancel.Entry, a.cancel.Ending = Entry{Op: OpCancel}, true
	a.left.Add(1)
	if e.Submit(a.cancel) != nil { // the engine has ended, and the request with it
		a.left.Add(-1)
	}
}

// Nudge has the waiter, if there is one, ask once more whether the wait has ended. It may be called from anywhere, and
// does not block.
func (a *Operation) Nudge() {
	if a.left.Load() == 0 {
		return
	}
	a.mu.Lock()
	waiter, e := a.parker, a.engine
	a.mu.Unlock()
	e.unpark(waiter)
}

// Awaited implements park.Awaited.
func (a *Operation) Awaited() (string, uintptr) { return "input or output", 0 }

// spare are for operations without a descriptor of package fiberio, which use them in turn.
var spare = sync.Pool{New: func() any { return new(Operation) }}

// Do submits an operation and waits until it is over. See Operation.Await.
func (e *Engine) Do(op Entry) (Completion, error) {
	a := spare.Get().(*Operation)
	defer spare.Put(a)
	return a.Await(e, op, endless{})
}

// Unseen calls wait, which blocks the caller until other fibers or goroutines have gone on. The scheduler of a fiber
// does not see what these wait for, so it must not take that for a deadlock.
func Unseen(wait func()) {
	if fiber, ok := park.Current().(park.Scheduled); ok {
		elsewhere := &fiber.Shared().BlockingCalls
		elsewhere.Add(1)
		defer elsewhere.Add(-1)
	}
	wait()
}
