package fibersync

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"fiberlab/internal/spinlock"
)

// What can be wrong with a call of a lock.
var (
	ErrUnlocked  = errors.New("the lock is not held: lock it first")
	ErrNotHolder = errors.New(
		"another fiber or goroutine holds the lock: lock it here, and unlock it where it was locked",
	)
	ErrHolder = errors.New("the caller holds the lock already, and would wait for itself: unlock it first")
)

// Mutex is a mutual exclusion lock: flare's fiber::Mutex. The zero value is unlocked. It must
// not be copied.
//
// A caller that finds it free takes it, even if others wait (barging); so a lock that is in
// demand changes hands without a switch. It is handed off to a waiter when barging has not
// paid, or when the waiter has competed for a millisecond (mutex_wait.go); so no waiter
// starves. It promises no order beyond that. If the chosen waiter is a fiber whose worker is
// busy, another waiter is chosen before long (mutex_revoke.go).
//
// The holder is a fiber or a goroutine. Debug builds know which one, and panic if it locks the
// mutex again or if another one unlocks it. Other builds do not check.
type Mutex struct {
	state  atomic.Uint64
	holder holder

	mu      spinlock.Lock
	waiters waitQueue
	chosen  chosenWaiter // the waiter that was woken or got the mutex, see mutex_revoke.go
}

var _ sync.Locker = (*Mutex)(nil)

// The bits of a mutex's state. mutexHeld changes at any time. The others change with mu held, with two
// exceptions. A caller that takes the mutex sets mutexTaken or mutexTwice if mutexWoken is set. A waiter
// that was woken clears the three.
const (
	mutexHeld    = 1 << iota // the mutex is held
	mutexQueued              // waiters are in the queue
	mutexWoken               // a waiter was woken to compete, and has not tried yet
	mutexTaken               // the mutex was taken since
	mutexTwice               // and more than once
	mutexHandOff             // from here up: how many more times to hand the mutex off
)

// Lock blocks the caller until it has the mutex. The caller must not hold it already: it would
// deadlock. Debug builds panic then, with an error that wraps ErrHolder.
func (m *Mutex) Lock() {
	if !m.state.CompareAndSwap(0, mutexHeld) {
		m.lockSlow()
	}
	m.holder.enter()
}

// LockContext is Lock that gives up when ctx is done, and returns context.Cause(ctx) then. It
// takes a free mutex even if ctx is done. A waiter that is woken just as ctx ends takes the
// mutex if it is free, and returns nil; otherwise the next waiter is woken in its place.
func (m *Mutex) LockContext(ctx context.Context) error {
	u := within(ctx)
	if !m.state.CompareAndSwap(0, mutexHeld) {
		if err := m.lockOrWait(u); err != nil {
			return err
		}
	}
	m.holder.enter()
	return nil
}

// TryLock takes the mutex if it is free, and reports whether it did. It does not block. It fails
// only if the mutex is held, or has been handed off to a caller of Lock that waits.
func (m *Mutex) TryLock() bool {
	if !m.take() {
		return false
	}
	m.holder.enter()
	return true
}

// Unlock gives the mutex up. It does not block. It panics with an error that wraps ErrUnlocked
// if the mutex is not held. In debug builds the caller must be the holder; the panic wraps
// ErrNotHolder if it is not.
func (m *Mutex) Unlock() {
	m.holder.leave()
	if !m.state.CompareAndSwap(mutexHeld, 0) {
		m.unlockSlow()
	}
}

// MustHold panics in debug builds, with an error that wraps ErrUnlocked or ErrNotHolder,
// unless the caller holds the mutex. It does nothing in others.
func (m *Mutex) MustHold() { m.holder.must("must hold") }

// held reports whether any caller holds the mutex.
func (m *Mutex) held() bool { return m.state.Load()&mutexHeld != 0 }

// take takes the mutex if it is free, and reports whether it did. It is not for a waiter that was
// woken; see takeAwake.
func (m *Mutex) take() bool {
	for {
		s := m.state.Load()
		if s&mutexHeld != 0 {
			return false
		}
		next := s | mutexHeld
		switch {
		case s&mutexTaken != 0:
			next |= mutexTwice
		case s&mutexWoken != 0:
			next |= mutexTaken
		}
		if m.state.CompareAndSwap(s, next) {
			return true
		}
	}
}

// unlockSlow is Unlock for a mutex that has waiters or is not held.
func (m *Mutex) unlockSlow() {
	for {
		s := m.state.Load()
		if s&mutexHeld == 0 {
			panic(fmt.Errorf("fibersync: unlock: %w", ErrUnlocked))
		}
		if s&mutexQueued != 0 && s&mutexWoken == 0 {
			if m.wakeOrHandOff() {
				return
			}
			continue
		}
		if m.state.CompareAndSwap(s, s&^mutexHeld) {
			return
		}
	}
}
