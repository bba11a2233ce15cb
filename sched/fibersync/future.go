package fibersync

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"fiberlab/internal/spinlock"
)

// What can be wrong with a promise.
var (
	ErrSettled = errors.New("the promise is settled: use TrySet or TryFail where several may settle it")
	ErrNoError = errors.New("a failure without an error: use Set")
)

// Promise is the side of a future that gives it its value; flare's Promise. It is settled
// once, by anybody. Who waits for one that is never settled waits for ever. The zero value
// is not settled. It must not be copied.
type Promise[T any] struct{ future Future[T] }

// Future returns the promise's future, always the same one.
func (p *Promise[T]) Future() *Future[T] { return &p.future }

// Set gives the future its value. It does not block. It panics with an error that wraps
// ErrSettled if the promise is settled.
func (p *Promise[T]) Set(v T) {
	if !p.TrySet(v) {
		panic(fmt.Errorf("fibersync: set a promise: %w", ErrSettled))
	}
}

// TrySet is Set that returns false if the promise is settled, and does nothing then.
func (p *Promise[T]) TrySet(v T) bool { return p.future.settle(v, nil) }

// Fail gives the future an error in the place of a value. It does not block. It panics
// with an error that wraps ErrSettled if the promise is settled, or ErrNoError if err is nil.
func (p *Promise[T]) Fail(err error) {
	if !p.TryFail(err) {
		panic(fmt.Errorf("fibersync: fail a promise: %w", ErrSettled))
	}
}

// TryFail is Fail that returns false if the promise is settled, and does nothing then.
func (p *Promise[T]) TryFail(err error) bool {
	if err == nil {
		panic(fmt.Errorf("fibersync: fail a promise: %w", ErrNoError))
	}
	var none T
	return p.future.settle(none, err)
}

// Future is a value that will be there later, or the error why there is none; flare's
// Future. Get one from a Promise or from Async. Any number may wait for it, and each gets
// the same.
type Future[T any] struct {
	settled atomic.Bool // set with guard held, when value and err are there; they stay

	value T
	err   error

	guard spinlock.Lock
	line  line
	calls []func() // to be made when it is settled
}

// Done tells whether Get would return at once. It does not block.
func (f *Future[T]) Done() bool { return f.settled.Load() }

// Get blocks the caller until the future has its value or its error, and returns them.
func (f *Future[T]) Get() (T, error) {
	_ = f.wait(until{})
	return f.value, f.err
}

// GetContext is Get that gives up when ctx is over, and returns its error then. A future
// that is settled by then gives what it has, whatever ctx says.
func (f *Future[T]) GetContext(ctx context.Context) (T, error) {
	if err := f.wait(within(ctx)); err != nil {
		var none T
		return none, err
	}
	return f.value, f.err
}

func (f *Future[T]) wait(u until) error {
	if f.settled.Load() {
		return nil
	}
	f.guard.Lock()
	if f.settled.Load() {
		f.guard.Unlock()
		return nil
	}
	return f.line.wait(&f.guard, u)
}

// settle gives the future what it will keep, lets all who wait go on, and makes the calls
// that are due. It returns false, and does nothing, if the future is settled.
func (f *Future[T]) settle(v T, err error) bool {
	f.guard.Lock()
	if f.settled.Load() {
		f.guard.Unlock()
		return false
	}
	f.value, f.err = v, err
	f.settled.Store(true)
	waiters, calls := f.line.takeAll(), f.calls
	f.calls = nil
	f.guard.Unlock()
	grantAll(waiters)
	for _, call := range calls {
		call()
	}
	return true
}

// whenSettled makes a call once the future is settled: at once if it is, else whoever
// settles it makes it. call must not block nor panic.
func (f *Future[T]) whenSettled(call func()) {
	f.guard.Lock()
	settled := f.settled.Load()
	if !settled {
		f.calls = append(f.calls, call)
	}
	f.guard.Unlock()
	if settled {
		call()
	}
}
