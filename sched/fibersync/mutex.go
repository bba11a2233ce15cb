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
	ErrNotHolder = errors.New("somebody else holds the lock: who locks it unlocks it")
	ErrHolder    = errors.New("the caller holds the lock: it would wait for itself for ever")
)

// Mutex lets one at a time go on; it is flare's fiber::Mutex. The zero value is not
// locked. It must not be copied.
//
// Who comes while it is free takes it, whoever waits; so a lock that is wanted often
// goes round without a switch. It is handed to those who wait when that has not paid, or
// when one of them has tried for a millisecond (mutex_wait.go); so nobody waits for ever.
// There is no order beyond that. If who could have it is a fiber whose worker is busy, another
// one is let out before long (mutex_absent.go).
//
// Its holder is a fiber or a goroutine. Debug builds know which, and panic if it locks the
// mutex again or somebody else unlocks it; others do not notice.
type Mutex struct {
	state  atomic.Uint64
	holder holder

	guard  spinlock.Lock
	line   line
	absent absent // who was let out of the line, or handed the mutex, and may not have come
}

var _ sync.Locker = (*Mutex)(nil)

// The bits of a mutex's state. Held changes at any time, the others under the guard, but
// for those of somebody woken: that one clears them, and who takes the mutex sets them.
const (
	mutexHeld     = 1 << iota // somebody has the mutex
	mutexQueued               // somebody stands in line
	mutexWoken                // somebody was let out of the line to try, and has not tried yet
	mutexTaken                // since then the mutex has been taken
	mutexTwice                // and not only once
	mutexHandover             // from here up: how often it still is to be handed over
)

// Lock blocks the caller until it has the mutex, which it must not hold: it would
// wait for ever, and panics in debug builds with an error that wraps ErrHolder.
func (m *Mutex) Lock() {
	if !m.state.CompareAndSwap(0, mutexHeld) {
		m.lockSlow()
	}
	m.holder.enter()
}

// LockContext is Lock that gives up when ctx is over, and returns its error then. A
// mutex that is free is taken even so. Who is let out of the line just as ctx ends takes
// the mutex, if it is free, and returns nil; else the next in line is let out in its place.
func (m *Mutex) LockContext(ctx context.Context) error {
	if !m.state.CompareAndSwap(0, mutexHeld) {
		if err := m.lockOrWait(within(ctx)); err != nil {
			return err
		}
	}
	m.holder.enter()
	return nil
}

// TryLock takes the mutex if it is free, and tells whether it did. It does not block.
// It fails only if somebody has the mutex.
func (m *Mutex) TryLock() bool {
	if !m.take() {
		return false
	}
	m.holder.enter()
	return true
}

// Unlock gives the mutex up. It does not block. It panics with an error that wraps
// ErrUnlocked if nobody holds it; in debug builds the caller must hold it,
// and the panic wraps ErrNotHolder if somebody else does.
func (m *Mutex) Unlock() {
	m.holder.leave()
	if !m.state.CompareAndSwap(mutexHeld, 0) {
		m.unlockSlow()
	}
}

// MustHold panics in debug builds, with an error that wraps ErrUnlocked or ErrNotHolder,
// unless the caller holds the mutex. It does nothing in others.
func (m *Mutex) MustHold() { m.holder.must("must hold") }

// MustNotHold panics in debug builds, with an error that wraps ErrHolder, if the caller
// holds the mutex. It does nothing in others.
func (m *Mutex) MustNotHold() { m.holder.mustNot("must not hold") }

// take takes the mutex if it is free, and tells whether it did. The caller has not
// been woken.
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

// unlockSlow is Unlock where somebody waits, or where it is misuse.
func (m *Mutex) unlockSlow() {
	for {
		s := m.state.Load()
		if s&mutexHeld == 0 {
			panic(fmt.Errorf("fibersync: unlock: %w", ErrUnlocked))
		}
		if s&mutexQueued != 0 && s&mutexWoken == 0 {
			if m.release() {
				return
			}
			continue
		}
		if m.state.CompareAndSwap(s, s&^mutexHeld) {
			return
		}
	}
}
