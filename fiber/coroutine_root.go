package fiber

import (
	"runtime"
	"strings"
	"sync/atomic"

	"fiberlab/fiber/internal/identity"
	"fiberlab/internal/goroutine"
	"fiberlab/internal/release"
)

// driverRoot is a root goroutine of the Goroutine backend, with the fiber that runs in
// its place. Only what runs under it touches its fields.
type driverRoot struct {
	fiber      *Fiber // the root
	locked     bool   // to its thread, when it was attached
	lock       threadLock
	current    *runner // the runner that runs here, or that a coroutine runs on behalf of: see onBehalfOf
	pinned     int     // coroutines that only this root can run
	departed   *runner // left last; the next to arrive publishes it
	departedAs uint64  // its state's word then
}

// attachDriverRoot makes the calling goroutine a root of the Goroutine backend.
func attachDriverRoot() *Fiber {
	findLocks()
	d := &driverRoot{locked: Locked() || !locksKnown.Load() && lockedToThread()}
	if d.locked {
		runtime.LockOSThread() // by this lock, its coroutines differ from other goroutines: see onBehalfOf
	}
	if locksKnown.Load() {
		d.lock = threadLockOf(identity.G())
	}
	r := &runner{kind: kind{backend: Goroutine}, state: new(atomic.Uint64), driver: d}
	d.fiber = &Fiber{name: "root goroutine", backend: Goroutine, runner: r, g: identity.G()}
	r.co = &coroutine{root: d}
	r.co.pin.Store(d)
	r.co.g.Store(d.fiber.g)
	d.current = r
	r.load(d.fiber, Running)
	goroutines.insert(d.fiber.g, r)
	if d.lock.m != 0 {
		goroutines.insert(d.lock.m, r) // its M is a key, too, among the gs
	}
	r.listForDump()
	return d.fiber
}

// detach makes the root a plain goroutine again.
func (d *driverRoot) detach() {
	r := d.fiber.runner
	goroutines.remove(d.fiber.g)
	if d.lock.m != 0 {
		goroutines.remove(d.lock.m)
	}
	r.co.g.Store(0)
	r.state.Store(d.fiber.generation | uint64(Closed))
	r.fiber.Store(nil)
	if d.locked {
		runtime.UnlockOSThread()
	}
}

// onBehalfOf returns the runner on whose behalf the goroutine g, which is the caller, runs, or nil. A goroutine that
// is in no table may be tied to the thread of a locked root by as many locks as the root. Then it is a coroutine of
// iter.Pull that the fiber which runs there has called. Another goroutine can be only if the root has unlocked itself
// twice, and the goroutine has locked itself twice.
func onBehalfOf(g uintptr) *runner {
	if !locksKnown.Load() {
		return nil
	}
	m := locks.tiedTo(g)
	if m == 0 {
		return nil
	}
	root := goroutines.lookup(m)
	if root == nil || root.driver == nil || locks.countsOf(m)[0] < root.driver.lock.counts[0] {
		return nil
	}
	return root.driver.current
}

// lockedToThread reports whether the calling goroutine is locked to its thread.
func lockedToThread() bool { return strings.Contains(goroutine.Head(), "locked to thread") }

// mayRun reports whether the goroutine of a coroutine, or of a root, may run
// under d. If the runtime found it on another thread than its own, or
// on a thread that another goroutine is tied to, it would end the program.
func (d *driverRoot) mayRun(co *coroutine) bool {
	pin := co.pin.Load()
	return pin == d || pin == nil && !d.locked
}

// enter claims to for d, and gives it a goroutine that may run under d.
func (d *driverRoot) enter(to *Fiber) error {
	if err := d.claim(to); err != nil {
		return err
	}
	co := to.runner.co
	co.root = d
	if co.in != nil && !d.mayRun(co) {
		endUnpinned(co)
	}
	if co.in == nil && to.runner.driver == nil {
		co.start(to.runner)
	}
	return nil
}

// claim makes to Running, to run under d, or returns the reason why it cannot be run there. It waits
// only while another goroutine moves to from one handle to another.
func (d *driverRoot) claim(to *Fiber) error {
	target := to.runner
	for {
		word := target.state.Load()
		if word&^stateMask != to.generation {
			return ErrClosed
		}
		state := State(word & stateMask)
		switch state {
		case Closed:
			return ErrClosed
		case Running:
			return ErrRunning
		case Finished:
			return ErrFinished
		case Suspended, moving:
			// It has been started, and its pin is settled.
			if !d.mayRun(target.co) {
				if target.state.Load() != word {
					continue // the pin was another fiber's, or is gone
				}
				if target.driver != nil {
					return ErrForeignRoot
				}
				return ErrPinned
			}
		}
		if state == moving {
			runtime.Gosched()
		} else if target.state.CompareAndSwap(word, to.generation|uint64(Running)) {
			return nil
		}
	}
}

// arrive publishes the runner that left for the caller, which runs under d now: only from here on
// does it wait in its handle, and others may claim it.
func (d *driverRoot) arrive() { release.Store(d.departed.state, d.departedAs) }
