package fibersync

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"fiberlab/fiber"
	"fiberlab/internal/debug"
	"fiberlab/internal/spinlock"
)

// ErrOnceInside is the error of a Do that would wait for itself.
var ErrOnceInside = errors.New("Do was called by the function that it calls: call it elsewhere")

// Once calls one function, once. The zero value has called none. It must not be copied.
type Once struct {
	done atomic.Bool

	mu      spinlock.Lock
	running bool      // the function has been called, and has not returned
	by      uintptr   // the caller that runs it, by fiber.Self; in debug builds
	waiters waitQueue // for it to return
}

// Do calls f if it is the first Do of o, and returns when f has returned. Other callers of Do
// wait for that, and their functions are not called. If f panics or ends its goroutine, it
// counts as called: the waiters go on, and no later Do calls anything; the panic is the first
// caller's. Do panics with an error that wraps ErrNilFunc if it would call f and f is nil.
//
// f must not call Do of the same Once, which would deadlock. Debug builds panic, with an error
// that wraps ErrOnceInside.
func (o *Once) Do(f func()) {
	if !o.done.Load() {
		_ = o.do(until{}, f)
	}
}

// DoContext is Do that gives up when ctx is done while it waits for another caller's function;
// it returns context.Cause(ctx) then. It does not interrupt f.
func (o *Once) DoContext(ctx context.Context, f func()) error {
	u := within(ctx)
	if o.done.Load() {
		return nil
	}
	return o.do(u, f)
}

func (o *Once) do(u until, f func()) error {
	o.mu.Lock()
	switch {
	case o.done.Load():
		o.mu.Unlock()
		return nil
	case o.running:
		if debug.On && o.by == fiber.Self() {
			o.mu.Unlock()
			panic(fmt.Errorf("fibersync: once: %w", ErrOnceInside))
		}
		return o.waiters.wait(&o.mu, u)
	}
	if f == nil {
		o.mu.Unlock()
		panic(fmt.Errorf("fibersync: once: %w", ErrNilFunc))
	}
	o.running = true
	if debug.On {
		o.by = fiber.Self()
	}
	o.mu.Unlock()
	defer o.finish()
	f()
	return nil
}

// finish ends all waits, and makes later calls return at once.
func (o *Once) finish() {
	o.mu.Lock()
	o.done.Store(true)
	waiters := o.waiters.takeAll()
	o.mu.Unlock()
	handOffAll(waiters)
}
