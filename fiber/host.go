package fiber

import (
	"runtime"
	"strings"
	"sync/atomic"

	"fiberlab/fiber/internal/identity"
	"fiberlab/internal/release"
)

// host is a root goroutine of the Goroutine backend, with the fiber that runs in
// its place.
type host struct {
	root       *Fiber
	locked     bool // to its thread, by its owner
	lock       threadLock
	current    *carrier // who runs here; for those that run on behalf of another: see behalf
	pinned     int      // coroutines that only this host can resume
	departed   *carrier // who was left last, to be published by who was entered
	departedAs uint64   // its state's word then
}

// attachHost makes the calling goroutine a root of the Goroutine backend.
func attachHost() *Fiber {
	findLocks()
	h := &host{}
	if locksKnown.Load() {
		h.lock = threadLockOf(identity.G())
		h.locked = h.lock.m != 0
	} else {
		h.locked = lockedToThread()
	}
	c := &carrier{kind: kind{backend: Goroutine}, state: new(atomic.Uint64), host: h}
	h.root = &Fiber{name: "root goroutine", backend: Goroutine, carrier: c, g: identity.G()}
	c.co = &coroutine{host: h}
	c.co.pin.Store(h)
	c.co.g.Store(h.root.g)
	h.current = c
	c.load(h.root, Running)
	goroutines.insert(h.root.g, c)
	if h.lock.m != 0 {
		goroutines.insert(h.lock.m, c)
	}
	carriers.roots.Add(1)
	c.enlist()
	return h.root
}

// detach makes the root a plain goroutine again.
func (h *host) detach() {
	c := h.root.carrier
	goroutines.remove(h.root.g)
	if h.lock.m != 0 {
		goroutines.remove(h.lock.m)
	}
	c.co.g.Store(0)
	c.state.Store(h.root.generation | uint64(Closed))
	c.unload()
}

// behalf returns who runs on the thread that the calling goroutine, whose g that is, is tied to: a
// goroutine that is in no table, but tied to a root's thread, is a coroutine of iter.Pull that the
// one who runs there has called. It returns nil if there is none.
func behalf(g uintptr) *carrier {
	if !locksKnown.Load() {
		return nil
	}
	m := locks.tiedTo(g)
	if m == 0 {
		return nil
	}
	if root := goroutines.lookup(m); root != nil && root.host != nil {
		return root.host.current
	}
	return nil
}

// lockedToThread tells whether the calling goroutine is locked to its thread. The
// runtime says so nowhere but at the head of a stack trace.
func lockedToThread() bool {
	var buf [128]byte
	head, _, _ := strings.Cut(string(buf[:runtime.Stack(buf[:], false)]), "\n")
	return strings.Contains(head, "locked to thread")
}

// mayResume tells whether the goroutine of a coroutine, or of a root, may be resumed
// on h. If the runtime found it on another thread than the one that it is tied to, or
// on one that something else is tied to, it would end the program.
func (h *host) mayResume(co *coroutine) bool {
	pin := co.pin.Load()
	return pin == h || pin == nil && !h.locked
}

// enter claims to for h, and sees to it that it has a goroutine that h may resume.
func (h *host) enter(to *Fiber) error {
	if err := h.claim(to); err != nil {
		return err
	}
	co := to.carrier.co
	co.host = h
	if co.in != nil && !h.mayResume(co) {
		endUnpinned(co)
	}
	if co.in == nil && to.carrier.host == nil {
		co.place(to.carrier)
	}
	return nil
}

// claim makes to Running, to run on h, or says why it cannot be run there. It waits
// only while somebody moves to from one seat to another.
func (h *host) claim(to *Fiber) error {
	t := to.carrier
	for {
		word := t.state.Load()
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
			if !h.mayResume(t.co) {
				if t.state.Load() != word {
					continue // it was another fiber's, or none
				}
				if t.host != nil {
					return ErrForeignRoot
				}
				return ErrPinned
			}
		}
		if state == moving {
			runtime.Gosched()
		} else if t.state.CompareAndSwap(word, to.generation|uint64(Running)) {
			return nil
		}
	}
}

// arrive publishes who left for the caller, which runs on h now: only from here on
// is it complete in its seat, and others may claim it.
func (h *host) arrive() { release.Store(h.departed.state, h.departedAs) }
