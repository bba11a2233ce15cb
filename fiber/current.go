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
			// The caller has taken over the thread of a root that unlocked itself.
		}
	}
	g := identity.G()
	c := goroutines.lookup(g)
	if c == nil {
		c = behalf(g)
	}
	if c != nil {
		return c.fiber.Load()
	}
	return nil
}

// IsCurrent tells whether the caller runs on f: whether Current would return it. It costs half
// as much, does not block, and may be called from anywhere.
func (f *Fiber) IsCurrent() bool {
	if f == nil || f.carrier == nil {
		return false
	}
	c := f.carrier
	if c.co != nil {
		g := identity.G()
		return (c.co.g.Load() == g || behalf(g) == c) && c.fiber.Load() == f
	}
	onThisThread := identity.ThreadWord(currentOffset.Load()) == uintptr(c.block.index)
	return onThisThread && c.fiber.Load() == f && f.isOwnGoroutine()
}

// isOwnGoroutine tells whether the caller, on the thread that runs f, may be f: only one goroutine
// is a root, or a coroutine of iter.Pull that this one has called.
func (f *Fiber) isOwnGoroutine() bool {
	if f.g == 0 {
		return true
	}
	g := identity.G()
	return f.g == g || f.isOwnCoroutine(g)
}

// isOwnCoroutine tells whether the calling goroutine, whose g that is, is tied to the thread of the root
// f just as that is itself. Others can be only if f has unlocked itself; whoever was locked already when
// it was attached would have to do that twice.
func (f *Fiber) isOwnCoroutine(g uintptr) bool {
	if !locksKnown.Load() || f.lock.counts[0] < 2 {
		return false
	}
	l := threadLockOf(g)
	return l.m == f.lock.m && l.counts[0] == f.lock.counts[0]
}

// Self returns a number that names the caller: the fiber, or the goroutine if it is
// none. No two that live at the same time have the same. It costs about a nanosecond.
func Self() uintptr { return identity.G() }

// rootIndex returns the index of the calling thread's root, or 0.
func rootIndex() uintptr { return identity.ThreadWord(rootOffset.Load()) }
