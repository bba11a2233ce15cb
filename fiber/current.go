package fiber

import (
	"sync/atomic"

	"fiberlab/fiber/internal/identity"
)

// The distances from the thread pointer of the words in which C keeps the indices
// of the thread's current fiber and of its root. Zero until Supported has run.
var currentOffset, rootOffset atomic.Uintptr

// Current returns the fiber that the caller runs on, or nil if it is a goroutine
// that is no fiber. It costs single nanoseconds, does not block, and may be
// called from anywhere, from Go functions called by C bodies too.
func Current() *Fiber {
	if offset := currentOffset.Load(); offset != 0 {
		if index := identity.ThreadWord(offset); index != 0 {
			f := registry.at(index).fiber.Load()
			if f == nil || f.isOwnGoroutine() {
				return f
			}
			// The caller runs on the thread of a root that has unlocked itself.
		}
	}
	if goroutines.unused() {
		return nil
	}
	g := identity.G()
	r := goroutines.lookup(g)
	if r == nil {
		r = onBehalfOf(g)
	}
	if r != nil {
		return r.fiber.Load()
	}
	return nil
}

// IsCurrent reports whether the caller runs on f: whether Current would return it. It costs half
// as much, does not block, and may be called from anywhere.
func (f *Fiber) IsCurrent() bool {
	if f == nil || f.runner == nil {
		return false
	}
	r := f.runner
	if r.co != nil {
		g := identity.G()
		return (r.co.g.Load() == g || onBehalfOf(g) == r) && r.fiber.Load() == f
	}
	return r.runsHere() && r.fiber.Load() == f && f.isOwnGoroutine()
}

// runsHere reports whether r, which has a control block, is what the calling thread runs.
func (r *runner) runsHere() bool {
	return identity.ThreadWord(currentOffset.Load()) == uintptr(r.block.index)
}

// isOwnGoroutine reports whether the caller, on the thread that runs f, may be f: a root is one
// goroutine, or a coroutine of iter.Pull that this one has called.
func (f *Fiber) isOwnGoroutine() bool { return !f.isRoot() || f.isOwnRoot() }

func (f *Fiber) isOwnRoot() bool {
	g := identity.G()
	return f.g == g || f.isOwnCoroutine(g)
}

// isOwnCoroutine reports whether the calling goroutine g is tied to the thread of the root f in the
// same way as f is. Another goroutine can be only if f has unlocked itself; a root that was locked already when
// it was attached would have to do that twice.
func (f *Fiber) isOwnCoroutine(g uintptr) bool {
	if !locksKnown.Load() || f.lock.counts[0] < 2 {
		return false
	}
	l := threadLockOf(g)
	return l.m == f.lock.m && l.counts[0] == f.lock.counts[0]
}

// Self returns a number that identifies the caller: the fiber, or the goroutine if it is
// none. No two that live at the same time have the same number. It costs about a nanosecond.
func Self() uintptr { return identity.G() }

// rootIndex returns the index of the calling thread's root, or 0.
func rootIndex() uintptr { return identity.ThreadWord(rootOffset.Load()) }
