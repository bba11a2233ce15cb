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
	ErrTooMany  = errors.New("more than the semaphore has in all: it would be waited for in vain")
	ErrReleased = errors.New("more than has been acquired: release each unit once")
)

// Semaphore has some units, of which one acquires as many as one wants and releases
// them later. They are given out strictly in the order of coming: who wants many is not passed
// by those who want few. Flare's fiber::CountingSemaphore gives out one unit at a time and
// promises no order. The zero value has no units. It must not be copied.
type Semaphore struct {
	state atomic.Uint64 // how many units are free, and semaphoreQueued
	units uint64

	guard spinlock.Lock
	line  line // the note of each waiter is how much it wants
}

// semaphoreQueued is the bit of a semaphore's state that says that somebody waits. While
// it is set the state changes under the guard only.
const semaphoreQueued = 1 << 63

// NewSemaphore makes a semaphore of n units. It panics with an error that wraps
// ErrNegative if n is less than 0.
func NewSemaphore(n int64) *Semaphore {
	s := &Semaphore{units: semaphoreUnits("make a semaphore", n)}
	s.state.Store(s.units)
	return s
}

// Acquire blocks the caller until it has n units. It panics with an error that wraps
// ErrNegative if n is less than 0, and ErrTooMany if the semaphore has less than n in all.
func (s *Semaphore) Acquire(n int64) {
	if err := s.acquire(n, until{}); err != nil {
		panic(err)
	}
}

// AcquireContext is Acquire that gives up when ctx is over, and returns its error then.
// What is free is taken even so. Who is given its units just as ctx ends has them, and
// gets nil. If there are less than n in all, the error wraps ErrTooMany, at once. It panics with an
// error that wraps ErrNegative if n is less than 0.
func (s *Semaphore) AcquireContext(ctx context.Context, n int64) error {
	return s.acquire(n, within(ctx))
}

// TryAcquire takes n units if they are free and nobody waits, and tells whether it did. It
// does not block. It panics with an error that wraps ErrNegative if n is less than 0.
func (s *Semaphore) TryAcquire(n int64) bool { return s.take(semaphoreUnits("acquire", n)) }

// Release gives n units back, and lets those go on who now have what they wait for. It
// does not block; who releases need not be who acquired. It panics with an error
// that wraps ErrNegative if n is less than 0, and ErrReleased if less than n are acquired.
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

// semaphoreUnits is n, of which something is to be done. It panics if that is negative.
func semaphoreUnits(what string, n int64) uint64 {
	if n < 0 {
		panic(fmt.Errorf("fibersync: %s: %d units: %w", what, n, ErrNegative))
	}
	return uint64(n)
}
