//go:build !race

package spinlock

import (
	"sync/atomic"

	"fiberlab/fiber/release"
)

// Lock is a lock for moments. The zero value is free. It must not be copied.
type Lock struct {
	held atomic.Uint64 // 1 or 0
}

// Lock takes the lock. While somebody else has it, the caller spins and then rests: it blocks its
// goroutine or fiber together with the thread.
func (l *Lock) Lock() {
	if !l.held.CompareAndSwap(0, 1) {
		l.wait()
	}
}

// TryLock takes the lock if it is free, and tells whether it did. It does not block.
func (l *Lock) TryLock() bool { return l.held.Load() == 0 && l.held.CompareAndSwap(0, 1) }

// Unlock lets the lock go, which somebody must have taken: not necessarily the caller.
func (l *Lock) Unlock() { release.Store(&l.held, 0) }

// wait is Lock where the lock was not free at once.
func (l *Lock) wait() {
	for rests := 0; ; rests++ {
		for range polls {
			if l.TryLock() {
				return
			}
			Pause()
		}
		rest(rests)
	}
}
