package fibersync

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"fiberlab/internal/spinlock"
)

// What can be wrong with a call of a semaphore.
var (
	ErrTooMany  = errors.New("more units than the semaphore has in all, and the wait would never end: acquire fewer")
	ErrReleased = errors.New("more units than are acquired: release each unit once")
)

// Semaphore has a number of units; a caller acquires as many as it wants and releases them
// later. Units go to callers strictly in the order of their arrival: a caller that wants many is not
// overtaken by callers that want few. Flare's fiber::CountingSemaphore gives out one unit at a
// time and promises no order. The zero value has no units. It must not be copied.
type Semaphore struct {
	state atomic.Uint64 // how many units are free, and semaphoreQueued
	units uint64

	mu      spinlock.Lock
	waiters waitQueue // the tag of each waiter is the number of units it wants
}

// semaphoreQueued is the bit of a semaphore's state that says that there are waiters. While it
// is set, the state changes only with mu held.
const semaphoreQueued = 1 << 63

// NewSemaphore returns a semaphore of n units. It panics with an error that wraps ErrNegative
// if n is less than 0.
func NewSemaphore(n int64) *Semaphore {
	s := &Semaphore{units: semaphoreUnits("make a semaphore", n)}
	s.state.Store(s.units)
	return s
}

// Acquire blocks the caller until it has n units. It panics with an error that wraps
// ErrNegative if n is less than 0, and ErrTooMany if the semaphore has fewer than n in all.
func (s *Semaphore) Acquire(n int64) {
	if err := s.acquire(n, until{}); err != nil {
		panic(err)
	}
}

// AcquireContext is Acquire that gives up when ctx is done, and returns context.Cause(ctx)
// then. It takes free units even if ctx is done. A waiter that gets its units just as ctx ends
// has them, and gets nil. If there are fewer than n in all, the error wraps ErrTooMany, at
// once. It panics with an error that wraps ErrNegative if n is less than 0.
func (s *Semaphore) AcquireContext(ctx context.Context, n int64) error {
	return s.acquire(n, within(ctx))
}

// TryAcquire takes n units if they are free and there are no waiters, and reports whether it did.
// It does not block. It panics with an error that wraps ErrNegative if n is less than 0.
func (s *Semaphore) TryAcquire(n int64) bool { return s.take(semaphoreUnits("acquire", n)) }

// Release gives n units back, and hands them off to waiters. It does not block. The releaser
// need not be the caller that acquired them. It panics with an error that wraps ErrNegative if
// n is less than 0, and ErrReleased if fewer than n are acquired.
func (s *Semaphore) Release(n int64) {
	back := semaphoreUnits("release", n)
	for {
		state := s.state.Load()
		free := state &^ semaphoreQueued
		switch {
		case back > s.units-free:
			panic(fmt.Errorf("fibersync: release %d units: %w", n, ErrReleased))
		case free != state:
			if s.releaseQueued(state, back) {
				return
			}
		case s.state.CompareAndSwap(state, state+back):
			return
		}
	}
}

// take is TryAcquire.
func (s *Semaphore) take(n uint64) bool {
	for {
		state := s.state.Load()
		if state&semaphoreQueued != 0 || state < n {
			return false
		}
		if s.state.CompareAndSwap(state, state-n) {
			return true
		}
	}
}

// semaphoreUnits returns n as a number of units. It panics if n is negative.
func semaphoreUnits(what string, n int64) uint64 {
	if n < 0 {
		panic(fmt.Errorf("fibersync: %s: %d units: %w", what, n, ErrNegative))
	}
	return uint64(n)
}
