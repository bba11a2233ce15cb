//go:build !race

package spinlock

import (
	"sync/atomic"

	"fiberlab/internal/release"
)

// Lock is a lock to be held for a few instructions. The zero value is free. It must not be copied.
type Lock struct {
	held atomic.Uint64 // 1 or 0
	late uint32        // atomic: how many waiters are late
}

// Lock takes the lock. While it is held, the caller spins and then backs off: that blocks its goroutine or
// fiber together with the thread.
func (l *Lock) Lock() {
	if atomic.LoadUint32(&l.late) != 0 || !l.held.CompareAndSwap(0, 1) {
		l.wait()
	}
}

// TryLock takes the lock if it is free, and reports whether it did. It does not block.
func (l *Lock) TryLock() bool { return l.held.Load() == 0 && l.held.CompareAndSwap(0, 1) }

// Unlock releases the lock. The lock must be held, not necessarily by the caller.
func (l *Lock) Unlock() { release.Store(&l.held, 0) }

// wait is Lock if the lock was not free at once, or a waiter is late.
//
// On one processor, a thread that takes the lock again and again may hold it each time that a waiter gets
// to look. So after a limit a waiter counts itself as late, and from then on callers let others run before
// they take the lock.
func (l *Lock) wait() {
	if atomic.LoadUint32(&l.late) != 0 {
		yield()
	}
	tries := 0
	for ; !l.poll(); tries++ {
		if tries == lateAfter {
			atomic.AddUint32(&l.late, 1)
		}
		backOff(tries)
	}
	if tries > lateAfter {
		atomic.AddUint32(&l.late, ^uint32(0))
	}
}

// poll tries for a moment to take the lock, and reports whether it did.
func (l *Lock) poll() bool {
	for range polls {
		if l.TryLock() {
			return true
		}
		Pause()
	}
	return false
}
