package fibersync

import (
	"context"
	"errors"
	"fmt"

	"fiberlab/internal/spinlock"
)

// What can be wrong with a promise.
var (
	ErrSettled = errors.New("the promise is settled already: use TrySet or TryFail if several callers may settle it")
	ErrNoError = errors.New("a failure needs an error: use Set to give a value")
)

// Promise is the side of a future that gives it its value; flare's Promise. It is settled once,
// by any caller. If it never is, its waiters never return. The zero value is not settled, and not
// claimed. It must not be copied.
type Promise[T any] struct{ future Future[T] }

// Future returns the promise's future, always the same one.
func (p *Promise[T]) Future() *Future[T] { return &p.future }

// Claim makes the future InProgress if it is NotStarted, and returns whether it did. Several callers that
// could compute the value call Claim first, and only the one that gets true computes it. Claim does
// not block. A promise may be settled without a claim, and by another caller than the one that has
// claimed it.
func (p *Promise[T]) Claim() bool { return p.future.status.claim() }

// Set gives the future its value. It does not block. It panics with an error that wraps
// ErrSettled if the promise is settled.
func (p *Promise[T]) Set(v T) {
	if !p.TrySet(v) {
		panic(fmt.Errorf("fibersync: set a promise: %w", ErrSettled))
	}
}

// TrySet is Set that returns false if the promise is settled, and does nothing then.
func (p *Promise[T]) TrySet(v T) bool { return p.future.settle(v, nil) }

// Fail gives the future an error instead of a value. It does not block. It panics with an error
// that wraps ErrSettled if the promise is settled, or ErrNoError if err is nil.
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

// TrySettle gives the future both a value and an error, as a function returns them; err may be nil. It returns false if
// the promise is settled, and does nothing then. It does not block.
func (p *Promise[T]) TrySettle(v T, err error) bool { return p.future.settle(v, err) }

// Future is a value that will be there later, or the error why there is none; flare's Future.
// Get one from a Promise or from Async. Any number of callers may wait for it, and each gets
// the same.
type Future[T any] struct {
	status status // Completed is stored with mu held when value and err are final

	value T
	err   error

	mu      spinlock.Lock
	waiters waitQueue
	others  *settledHooks // nil: none yet
}

// settledHooks is what the end of a future reaches besides its waiters.
type settledHooks struct {
	callbacks []func()
	done      chan struct{} // see Done
}

// Ready reports whether the future is settled, so that Get would return at once. It does not block.
func (f *Future[T]) Ready() bool { return f.status.get() == Completed }

// Status returns how far the future has come. It does not block.
func (f *Future[T]) Status() Status { return f.status.get() }

// Done returns a channel that is closed when the future is settled, for goroutines that select. A
// fiber calls Get: receiving from the channel would block its thread.
func (f *Future[T]) Done() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.Ready() {
		return closed
	}
	return doneChannel(&f.hooks().done, false)
}

// Get blocks the caller until the future has its value or its error, and returns them.
func (f *Future[T]) Get() (T, error) {
	_ = f.wait(until{})
	return f.value, f.err
}

// GetContext is Get that gives up when ctx is done, and returns context.Cause(ctx) then. A
// future that is settled by then returns its value or its error, even if ctx is done.
func (f *Future[T]) GetContext(ctx context.Context) (T, error) {
	if err := f.wait(within(ctx)); err != nil {
		var none T
		return none, err
	}
	return f.value, f.err
}

func (f *Future[T]) wait(u until) error {
	if f.Ready() {
		return nil
	}
	f.mu.Lock()
	if f.Ready() {
		f.mu.Unlock()
		return nil
	}
	return f.waiters.wait(&f.mu, u)
}

// settle gives the future its final value or error, ends all waits, and calls the callbacks. If
// the future is settled, it does nothing and returns false.
func (f *Future[T]) settle(v T, err error) bool {
	f.mu.Lock()
	if f.Ready() {
		f.mu.Unlock()
		return false
	}
	f.value, f.err = v, err
	f.status.complete()
	waiters, others := f.waiters.takeAll(), f.others
	f.others = nil
	f.mu.Unlock()
	handOffAll(waiters)
	if others != nil {
		closeDone(others.done)
		for _, call := range others.callbacks {
			call()
		}
	}
	return true
}

// whenSettled has call called once the future is settled: at once if it is, else by the code
// that settles it. call must not block nor panic.
func (f *Future[T]) whenSettled(call func()) {
	f.mu.Lock()
	settled := f.Ready()
	if !settled {
		hooks := f.hooks()
		hooks.callbacks = append(hooks.callbacks, call)
	}
	f.mu.Unlock()
	if settled {
		call()
	}
}

// hooks returns f.others, made now if there are none. f.mu must be held.
func (f *Future[T]) hooks() *settledHooks {
	if f.others == nil {
		f.others = new(settledHooks)
	}
	return f.others
}
