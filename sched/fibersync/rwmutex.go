package fibersync

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"fiberlab/internal/spinlock"
)

// RWMutex is a reader/writer lock: flare's fiber::SharedMutex. The zero value is unlocked. It
// must not be copied.
//
// A writer keeps new readers out and waits for the readers that are in. When it is done, all readers
// that have come since go in before the next writer. So neither side starves the other. It follows
// that a reader must not wait for another reader, nor lock it for reading once more: a writer may
// have come between them.
type RWMutex struct {
	writer Mutex // held by a writer that is in, or waits for the readers to leave
	state  atomic.Uint32

	mu      spinlock.Lock
	waiting waitQueue // the writer, if it waits for readers
	readers waitQueue
}

var _ sync.Locker = (*RWMutex)(nil)

// The bits of the state of an RWMutex. Readers come while there is no writer, and leave at
// any time. The rest changes with mu held, except when there are no readers and no queue.
const (
	rwWriter = 1 << iota // a writer is in, or waits for the readers to leave
	rwQueued             // readers wait
	rwReader             // from here up: how many readers are in
)

// RLock blocks the caller until it may read. In debug builds it panics with an error that wraps
// ErrHolder if the caller holds the lock for writing.
func (m *RWMutex) RLock() {
	if !m.TryRLock() {
		_ = m.rlock(until{})
	}
}

// RLockContext is RLock that gives up when ctx is done, and returns context.Cause(ctx) then. If
// no writer keeps the caller out, it succeeds even if ctx is done. A reader that is let in just
// as ctx ends may read, and gets nil.
func (m *RWMutex) RLockContext(ctx context.Context) error {
	u := within(ctx)
	if m.TryRLock() {
		return nil
	}
	return m.rlock(u)
}

// TryRLock lets the caller read if no writer is in or waits, and reports whether it did. It does
// not block.
func (m *RWMutex) TryRLock() bool {
	for {
		s := m.state.Load()
		if s&rwWriter != 0 {
			return false
		}
		if m.state.CompareAndSwap(s, s+rwReader) {
			return true
		}
	}
}

// RUnlock ends what RLock began. It does not block. It panics with an error that wraps
// ErrUnlocked if there are no readers.
func (m *RWMutex) RUnlock() {
	for {
		s := m.state.Load()
		if s < rwReader {
			panic(fmt.Errorf("fibersync: unlock for reading: %w", ErrUnlocked))
		}
		if !m.state.CompareAndSwap(s, s-rwReader) {
			continue
		}
		if s -= rwReader; s&rwWriter != 0 && s < rwReader {
			m.lastReaderLeft()
		}
		return
	}
}

// Lock blocks the caller until it may write. The caller must not hold the lock in either way:
// it would deadlock. Debug builds panic, with an error that wraps ErrHolder, if it holds the
// lock for writing.
func (m *RWMutex) Lock() {
	m.writer.Lock()
	if !m.state.CompareAndSwap(0, rwWriter) {
		_ = m.awaitReaders(until{})
	}
}

// LockContext is Lock that gives up when ctx is done, and returns context.Cause(ctx) then. It
// takes a free lock even if ctx is done. A writer that is let in just as ctx ends may write,
// and gets nil.
func (m *RWMutex) LockContext(ctx context.Context) error {
	u := within(ctx)
	if err := m.writer.LockContext(ctx); err != nil {
		return err
	}
	if m.state.CompareAndSwap(0, rwWriter) {
		return nil
	}
	err := m.awaitReaders(u)
	if err != nil {
		m.writer.Unlock()
	}
	return err
}

// TryLock lets the caller write if there are no readers and no other writer is in or waits, and
// reports whether it did. It does not block.
func (m *RWMutex) TryLock() bool {
	if !m.writer.TryLock() {
		return false
	}
	if !m.state.CompareAndSwap(0, rwWriter) {
		m.writer.Unlock()
		return false
	}
	return true
}

// Unlock ends what Lock began. It does not block. It panics with an error that wraps
// ErrUnlocked if there is no writer. In debug builds the caller must be the writer that locked it;
// the panic wraps ErrNotHolder if it is not.
func (m *RWMutex) Unlock() {
	m.writer.holder.must("unlock")
	if !m.state.CompareAndSwap(rwWriter, 0) {
		if s := m.state.Load(); s&rwWriter == 0 || s >= rwReader {
			panic(fmt.Errorf("fibersync: unlock: %w", ErrUnlocked))
		}
		m.mu.Lock()
		m.admit()
	}
	m.writer.Unlock()
}

// MustHold panics in debug builds, with an error that wraps ErrUnlocked or ErrNotHolder,
// unless the caller holds the lock for writing. It does nothing in others.
func (m *RWMutex) MustHold() { m.writer.MustHold() }

// RLocker returns the lock in the shape of a Locker for reading: its Lock is RLock, its Unlock
// RUnlock.
func (m *RWMutex) RLocker() sync.Locker { return (*rlocker)(m) }

type rlocker RWMutex

func (r *rlocker) Lock()   { (*RWMutex)(r).RLock() }
func (r *rlocker) Unlock() { (*RWMutex)(r).RUnlock() }
