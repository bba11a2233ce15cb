//go:build !race

package spinlock

import (
	"runtime"
	"sync/atomic"

	"fiberlab/internal/release"
)

// Lock is a lock for moments. The zero value is free. It must not be copied.
type Lock struct {
	held atomic.Uint64 // 1 or 0
	late uint32        // atomic: how many wait who have rested in vain
}

// Lock takes the lock. While somebody else has it, the caller spins and then rests: it blocks its
// goroutine or fiber together with the thread.
func (l *Lock) Lock() {
	if atomic.LoadUint32(&l.late) != 0 || !l.held.CompareAndSwap(0, 1) {
		l.wait()
	}
}

// TryLock takes the lock if it is free, and tells whether it did. It does not block.
func (l *Lock) TryLock() bool { return l.held.Load() == 0 && l.held.CompareAndSwap(0, 1) }

// Unlock lets the lock go, which somebody must have taken: not necessarily the caller.
func (l *Lock) Unlock() { release.Store(&l.held, 0) }

// wait is Lock where the lock was not free at once, or somebody is late.
//
// On one processor, somebody who takes the lock again and again may have it whenever another gets
// to look. So a waiter counts itself as late before long, and those who come then let others run
// at a moment when they do not have the lock.
func (l *Lock) wait() {
	if atomic.LoadUint32(&l.late) != 0 {
		runtime.Gosched()
	}
	rests := 0
	for ; !l.poll(); rests++ {
		if rests == patience {
			atomic.AddUint32(&l.late, 1)
		}
		rest(rests)
	}
	if rests > patience {
		atomic.AddUint32(&l.late, ^uint32(0))
	}
}

// poll looks for a moment whether the lock is free, and takes it then. It tells whether it did.
func (l *Lock) poll() bool {
	for range polls {
		if l.TryLock() {
			return true
		}
		Pause()
	}
	return false
}
