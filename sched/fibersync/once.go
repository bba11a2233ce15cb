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
var ErrOnceInside = errors.New("Do inside of the function that Do calls: call it elsewhere")

// Once calls one function, once. The zero value has called none. It must not be copied.
type Once struct {
	done atomic.Bool

	guard   spinlock.Lock
	running bool    // the function has been called, and has not returned
	by      uintptr // whoever calls it, see fiber.Self; in debug builds
	line    line    // of those who wait for it to return
}

// Do calls f if it is the first Do of o, and returns when f has. Others who call Do
// meanwhile wait for that, and what they would have had called is not. If f panics or ends
// its goroutine, it counts as called: no other Do calls anything, and those who wait
// go on; the panic is the first caller's.
//
// Do of the same Once must not be called in f, where it would wait for ever. In debug
// builds that panics with an error that wraps ErrOnceInside.
func (o *Once) Do(f func()) {
	if !o.done.Load() {
		_ = o.do(until{}, f)
	}
}

// DoContext is Do that, where it has to wait for another one's function, gives up when
// ctx is over, and returns its error then. It does not interrupt f.
func (o *Once) DoContext(ctx context.Context, f func()) error {
	if o.done.Load() {
		return nil
	}
	return o.do(within(ctx), f)
}

func (o *Once) do(u until, f func()) error {
	o.guard.Lock()
	switch {
	case o.done.Load():
		o.guard.Unlock()
		return nil
	case o.running:
		if debug.On && o.by == fiber.Self() {
			o.guard.Unlock()
			panic(fmt.Errorf("fibersync: once: %w", ErrOnceInside))
		}
		return o.line.wait(&o.guard, u)
	}
	o.running = true
	if debug.On {
		o.by = fiber.Self()
	}
	o.guard.Unlock()
	defer o.finish()
	f()
	return nil
}

// finish lets all who wait go on, and no other wait.
func (o *Once) finish() {
	o.guard.Lock()
	o.done.Store(true)
	waiters := o.line.takeAll()
	o.guard.Unlock()
	grantAll(waiters)
}
