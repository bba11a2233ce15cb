package uring

import (
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"fiberlab/sched/park"
)

// Operation is what a fiber or goroutine uses to wait for an operation of an engine, and to give it up. One caller at a
// time may use it, for one operation after another: only the first ones allocate. Nudge may be called at any time. It
// must not be copied. The zero value is ready.
type Operation struct {
	Request
	result Completion
	memory []byte // of the present operation, kept alive here

	// cancel ends the request; it is made when it is needed. Only the waiter begins it, at most once an operation, and
	// it is over before Await returns: so it never meets the next operation.
	cancel *Request

	left atomic.Int32 // completions that the waiter waits for: of the request, and of cancel; in WaitFor: 1 while it waits

	mu        sync.Mutex      // for parker and engine, which only the waiter changes
	parker    park.Parker     // of the present waiter, or of the last one
	engine    *Engine         // that it waits for
	goroutine *park.Goroutine // for waiters that are goroutines
}

// Ending decides when the waiter for an operation gives it up.
type Ending interface {
	// Ended returns an error if the wait is over. If not, it returns when the waiter must call it again at the latest; the
	// zero time is never. What changes the answer must call Operation.Nudge afterwards. Only the waiter calls Ended.
	Ended() (again time.Time, why error)
}

// endless is the ending of a wait that nothing ends early.
type endless struct{}

func (endless) Ended() (time.Time, error) { return time.Time{}, nil }

// Await submits op to e, and blocks its caller until op is over: a fiber, not its thread. It sets op.Addr to memory,
// which may be nil, and keeps memory alive until op is over. What it gets as memory is on the heap, where nothing
// moves. op.Length must not exceed len(memory). When end.Ended returns an error, Await cancels op, or does not submit
// it. Even then it returns only when the kernel is done with op.
//
// The error says why op has not been carried out. It is the error of Ended, or ErrClosed if e refuses requests or has
// ended. It wraps sched.ErrInWait if the caller is a fiber that must not park. If op completes before it is cancelled,
// the error is nil; the bytes or the descriptor that came are the caller's. A Completion has the kernel's error.
func (a *Operation) Await(e *Engine, op Entry, memory []byte, end Ending) (Completion, error) {
	fiber, err := a.attend(e)
	if err != nil {
		return Completion{}, err
	}
	if fiber != nil && !e.Mine() { // its own scheduler does not see the engine
		fiber.Shared().BlockingCalls.Add(1)
		defer fiber.Shared().BlockingCalls.Add(-1)
	}
	op.Addr = uintptr(unsafe.Pointer(unsafe.SliceData(memory)))
	a.Entry, a.Ending = op, false
	a.left.Swap(1) // from now on Nudge wakes it
	again, why := end.Ended()
	if why == nil {
		a.memory = memory
		why = e.Submit(&a.Request)
	}
	if why != nil {
		a.memory = nil
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
	a.memory = nil // not deferred: if something panics before op is over, the kernel may use the memory
	switch errno := syscall.Errno(-a.result.Result); {
	// EINTR: a thread of the kernel was in the system call
	case why != nil && (errno == syscall.ECANCELED || errno == syscall.EINTR):
		return Completion{}, why
	case errno == syscall.ECANCELED && e.Refuses(): // else a file system has said so
		return Completion{}, ErrClosed
	}
	return a.result, nil
}

// WaitFor blocks its caller until arrived returns true: a fiber, not its thread. The error comes from end.Ended, or it
// wraps sched.ErrInWait, as in Await. WaitFor serves callers that wait for the next completion of an internal
// request of e. What makes arrived true must call Nudge afterwards. While the caller waits, e has one operation more.
func (a *Operation) WaitFor(e *Engine, arrived func() bool, end Ending) error {
	fiber, err := a.attend(e)
	if err != nil {
		return err
	}
	if fiber != nil && !e.Mine() {
		fiber.Shared().BlockingCalls.Add(1)
		defer fiber.Shared().BlockingCalls.Add(-1)
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

// waited ends the count of an operation that WaitFor began. If e is Idle then, its worker must look whether anything is
// left. On e's thread it looks next in any case; a caller on another thread kicks e for that.
func (e *Engine) waited() {
	e.running.Add(-1)
	if e.Idle() && !e.Mine() {
		e.Kick()
	}
}

// attend makes the caller the waiter of a, for e. It returns the calling fiber (nil: a goroutine) or CanPark's error.
func (a *Operation) attend(e *Engine) (park.Scheduled, error) {
	if a.Completed == nil {
		a.Completed = a.over
	}
	p := park.Current()
	fiber, _ := p.(park.Scheduled)
	if fiber != nil {
		if err := fiber.CanPark(); err != nil {
			return nil, err
		}
	} else {
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
	return fiber, nil
}

// over takes a completion of the request, on the engine's thread. It stores c, and wakes the waiter if none is left.
func (a *Operation) over(c Completion) {
	a.result = c
	a.count()
}

func (a *Operation) count() {
	waiter, e := a.parker, a.engine // read first: after the last completion, another waiter may use a
	if a.left.Add(-1) == 0 {
		e.unpark(waiter)
	}
}

// giveUp submits the request that cancels the operation. The waiter calls it, and then waits for both.
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

// Nudge wakes the waiter, if there is one. The waiter then asks once more whether the wait has ended. Any thread may
// call Nudge, which does not block.
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

// spare holds Operations that no caller uses: Do takes one, and puts it back.
var spare = sync.Pool{New: func() any { return new(Operation) }}

// Do is Operation.Await without an Ending. Any fiber or goroutine may call it.
func (e *Engine) Do(op Entry, memory []byte) (Completion, error) {
	a := spare.Get().(*Operation)
	c, err := a.Await(e, op, memory, endless{})
	spare.Put(a) // not deferred, as in Await
	return c, err
}

// Unseen calls wait, which blocks the caller until others have gone on. For a fiber it counts a blocking call for that
// time: the fiber's scheduler does not see what the others wait for, and must not report a deadlock.
func Unseen(wait func()) {
	if fiber, ok := park.Current().(park.Scheduled); ok {
		fiber.Shared().BlockingCalls.Add(1)
		defer fiber.Shared().BlockingCalls.Add(-1)
	}
	wait()
}
