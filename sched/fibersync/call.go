package fibersync

import (
	"context"
	"errors"
	"time"

	"fiberlab/sched/park"
)

// stint is how long a fiber waits for a call before it looks again. A fiber that waits
// with a deadline is not taken for stuck.
const stint = time.Hour

// BlockingCall calls f, which would block its thread: by a system call, in C, on a lock
// that only goroutines know. If the caller is a fiber, f runs on a goroutine elsewhere, and
// the fiber is parked until f has returned; marl's blocking_call. So f has another
// identity and another thread, and waits as a goroutine does; but it belongs to the caller's scheduler: what
// it starts are tasks of that. How many such calls run at once is bounded by sched.Config.MaxCalls; others wait for
// their turn. If the caller is a plain goroutine, f is just called.
//
// If f panics on the goroutine, the caller panics with an error that wraps a *PanicError, which
// has the stack of where it happened. If f calls Goexit there, the caller panics with
// an error that wraps ErrGoexit.
func BlockingCall(f func()) {
	if park.Current() == nil {
		f()
		return
	}
	_, _ = callElsewhere(context.Background(), withoutResult(f))
}

// BlockingCallContext is BlockingCall that stops waiting for f when ctx is over, and
// returns its error then; see CallContext.
func BlockingCallContext(ctx context.Context, f func()) error {
	_, err := CallContext(ctx, withoutResult(f))
	return err
}

func withoutResult(f func()) func() (struct{}, error) {
	return func() (struct{}, error) {
		f()
		return struct{}{}, nil
	}
}

// Call is BlockingCall for a function with a result.
func Call[T any](f func() (T, error)) (T, error) {
	if park.Current() == nil {
		return f()
	}
	return callElsewhere(context.Background(), f)
}

// CallContext is Call that stops waiting for f when ctx is over, and returns its error
// then. Nothing can stop f: it runs on, and its result is dropped; but if it panics later,
// that ends the program, as nobody is left to be told. f always runs on a goroutine of its own,
// also if the caller is none but a goroutine. It is not called if ctx is over before.
func CallContext[T any](ctx context.Context, f func() (T, error)) (T, error) {
	if err := within(ctx).over(); err != nil {
		var none T
		return none, err
	}
	return callElsewhere(ctx, f)
}

// distantCall is one call of a function on a goroutine elsewhere.
type distantCall[T any] struct {
	f        func() (T, error)
	host     park.Parker // to whose scheduler the call belongs; nil: none
	gate     *Semaphore  // has given the call a unit; nil: there is none
	result   Promise[T]  // settled by the call, or by a caller that waits no longer
	panicked error       // why f has not returned; may be read when result is settled by the call
}

func callElsewhere[T any](ctx context.Context, f func() (T, error)) (T, error) {
	c := &distantCall[T]{f: f, host: owner()}
	if err := c.enter(ctx); err != nil {
		var none T
		return none, err
	}
	if m, ok := park.Current().(park.Scheduled); ok {
		shared := m.Shared()
		shared.BlockingCalls.Add(1)
		defer shared.BlockingCalls.Add(-1)
	}
	c.begin()
	if err := c.wait(ctx); err != nil && c.result.TryFail(err) {
		var none T
		return none, err
	}
	if c.panicked != nil {
		panic(c.panicked)
	}
	return c.result.future.value, c.result.future.err
}

// enter waits until the call may begin: Config.MaxCalls of a scheduler bounds those of its fibers. It
// returns nil then, or ctx's error.
func (c *distantCall[T]) enter(ctx context.Context) error {
	m, ok := park.Current().(park.Scheduled)
	if !ok || m.Shared().MaxCalls == 0 {
		return nil
	}
	shared := m.Shared()
	shared.Calls.Do(func() { shared.Gate = NewSemaphore(int64(shared.MaxCalls)) })
	c.gate = shared.Gate.(*Semaphore)
	return byStints(ctx, func(u until) error { return c.gate.acquire(1, u) })
}

// byStints waits until ctx is over, a stint at a time if the caller is a fiber.
func byStints(ctx context.Context, wait func(u until) error) error {
	if park.Current() == nil {
		return wait(until{ctx: ctx})
	}
	for {
		err := wait(until{ctx: ctx, deadline: time.Now().Add(stint)})
		if err == nil {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err // which that of a stint is not
		}
	}
}

// begin starts the call on a goroutine. A worker keeps its thread and its place in the Go
// runtime for some time yet, to run other fibers or to look for work, and other threads hesitate to
// take the latest goroutine from such a place. A timer that is due they take at once.
func (c *distantCall[T]) begin() {
	if park.Current() == nil {
		go c.run()
		return
	}
	time.AfterFunc(0, c.run)
}

// run makes the call, on a goroutine of its own.
func (c *distantCall[T]) run() {
	var v T
	var err error
	call := func() { v, err = c.f() }
	if c.host != nil {
		call = func() { park.CallFor(c.host, func() { v, err = c.f() }) }
	}
	watch(call, func(trouble error) {
		c.panicked = trouble
		if c.gate != nil {
			c.gate.Release(1)
		}
		if !c.result.future.settle(v, err) && trouble != nil && !errors.Is(trouble, ErrGoexit) {
			panic(trouble)
		}
	})
}

// wait returns nil when the call has ended, or ctx's error.
func (c *distantCall[T]) wait(ctx context.Context) error {
	return byStints(ctx, c.result.future.wait)
}
