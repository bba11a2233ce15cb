package fibersync

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"fiberlab/fiber"
	"fiberlab/sched/park"
)

// BlockingCall calls f, which would block its thread: by a system call, in C, or on a lock
// that only goroutines know. If the caller is a fiber, f runs on a goroutine, and the fiber
// is parked until f has returned; marl's blocking_call. So f has another
// identity and another thread than its caller, and waits as a goroutine does. It still belongs to the
// caller's scheduler: what f starts becomes tasks of that scheduler. sched.Config.MaxCalls limits how
// many such calls of one scheduler run at once; others wait for their turn. If the caller is a plain
// goroutine, it just calls f.
//
// If f panics on the goroutine, the caller panics with an error that wraps a *PanicError, which
// has the stack of the panic. If f calls Goexit there, the caller panics with an error that wraps
// ErrGoexit. BlockingCall panics with an error that wraps ErrNilFunc if f is nil. If the caller is a fiber that must
// not block, BlockingCall panics with an error that wraps sched.ErrInWait, and does not call f.
func BlockingCall(f func()) {
	_, _ = Call(withoutResult(f))
}

// BlockingCallContext is BlockingCall that stops waiting for f when ctx is done, and
// returns context.Cause(ctx) then; see CallContext.
func BlockingCallContext(ctx context.Context, f func()) error {
	_, err := CallContext(ctx, withoutResult(f))
	return err
}

func withoutResult(f func()) func() (struct{}, error) {
	if f == nil {
		return nil
	}
	return func() (struct{}, error) {
		f()
		return struct{}{}, nil
	}
}

// Call is BlockingCall for a function with a result.
func Call[T any](f func() (T, error)) (T, error) {
	mustBeFunc(f == nil)
	if park.Current() == nil {
		return f()
	}
	return offload(context.Background(), f)
}

// CallContext is Call that stops waiting for f when ctx is done, and returns context.Cause(ctx)
// then. Nothing can stop f: it runs on, and its result is dropped. If it panics after that, the panic
// ends the program. f always runs on another goroutine, even if the caller is a plain
// goroutine. If ctx is done before the call, or while the call waits for its turn (sched.Config.MaxCalls), f is not
// called.
func CallContext[T any](ctx context.Context, f func() (T, error)) (T, error) {
	mustBeFunc(f == nil)
	if err := within(ctx).Ended(); err != nil {
		var none T
		return none, err
	}
	return offload(ctx, f)
}

func mustBeFunc(isNil bool) {
	if isNil {
		panic(fmt.Errorf("fibersync: blocking call: %w", ErrNilFunc))
	}
}

// offloadedCall is one call of a function on another goroutine.
type offloadedCall[T any] struct {
	f        func() (T, error)
	caller   park.Parker   // the fiber on whose behalf the call runs; nil: none
	self     uintptr       // fiber.Self of that
	gate     *Semaphore    // has given the call a unit; nil: there is none
	running  *atomic.Int64 // counts the call until f has returned; nil: the call belongs to no scheduler
	result   Promise[T]    // settled by the call, or by a caller that waits no longer
	panicked error         // why f has not returned; set before the call settles result
}

func offload[T any](ctx context.Context, f func() (T, error)) (T, error) {
	c := &offloadedCall[T]{f: f, caller: park.Current(), self: fiber.Self()}
	mayPark(c.caller, nil) // before f runs: its result would be lost
	if c.caller == nil {
		c.caller, c.self = park.Caller(), park.CallerSelf()
	}
	if err := c.acquire(ctx); err != nil {
		var none T
		return none, err
	}
	if m, ok := c.caller.(park.Scheduled); ok {
		c.running = &m.Shared().BlockingCalls
		c.running.Add(1)
	}
	c.begin()
	if err := c.result.future.wait(until{Context: ctx}); err != nil && c.result.TryFail(err) {
		var none T
		return none, err
	}
	if c.panicked != nil {
		panic(c.panicked)
	}
	return c.result.future.value, c.result.future.err
}

// acquire waits until Config.MaxCalls of the caller's scheduler permits one more call, or until ctx is
// done: then it returns ctx's error.
func (c *offloadedCall[T]) acquire(ctx context.Context) error {
	m, ok := park.Current().(park.Scheduled)
	if !ok || m.Shared().MaxCalls == 0 {
		return nil
	}
	shared := m.Shared()
	shared.Calls.Do(func() { shared.Gate = NewSemaphore(int64(shared.MaxCalls)) })
	c.gate = shared.Gate.(*Semaphore)
	return c.gate.acquire(1, until{Context: ctx})
}

// begin starts the call on a goroutine. A worker keeps its thread and its P for some time, to run
// other fibers or to look for work. Idle Ps hesitate to steal the newest goroutine of a P, but
// they run a timer that is due at once.
func (c *offloadedCall[T]) begin() {
	if park.Current() == nil {
		go c.run()
		return
	}
	time.AfterFunc(0, c.run)
}

// run makes the call.
func (c *offloadedCall[T]) run() {
	var v T
	var err error
	call := func() { v, err = c.f() }
	if c.caller != nil {
		call = func() { park.CallFor(c.caller, c.self, func() { v, err = c.f() }) }
	}
	watch(call, func(failure error) {
		c.panicked = failure
		if c.gate != nil {
			c.gate.Release(1)
		}
		settled := c.result.future.settle(v, err)
		if c.running != nil {
			c.running.Add(-1) // after the fibers that wait, also for the gate, have been woken: else they seem deadlocked
		}
		if !settled && failure != nil && !errors.Is(failure, ErrGoexit) {
			panic(failure)
		}
	})
}
