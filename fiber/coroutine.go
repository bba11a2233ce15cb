package fiber

import (
	"iter"
	"runtime"
	"strings"
	"sync/atomic"

	"fiberlab/fiber/internal/identity"
)

// The Goroutine backend: fibers as Go's own coroutines. iter.Pull knows resume
// and yield only, so the goroutine of the root drives: a fiber that switches to
// another yields to the driver, naming the one to resume next.

// host is a root goroutine with the fibers that run on it.
type host struct {
	root     *Fiber
	locked   bool     // to its thread, by its owner
	pinned   int      // coroutines that only this host can resume
	target   *carrier // whom the fiber that yielded last wants to run
	departed State    // what that fiber is now
}

type coroutine struct {
	resume func() (struct{}, bool)
	yield  func(struct{}) bool
	host   *host // where it runs or ran last
	pin    *host // the only host that may resume it, if that is locked to its thread
}

// goexited is the panic that ends a coroutine whose body called Goexit.
type goexited struct{}

func newCoroutine(k kind) *carrier {
	return &carrier{kind: k, state: new(atomic.Uint64), co: new(coroutine)}
}

// attachHost makes the calling goroutine a root of the Goroutine backend.
func attachHost() *Fiber {
	h := &host{locked: lockedToThread()}
	c := &carrier{kind: kind{backend: Goroutine}, state: new(atomic.Uint64), host: h}
	h.root = &Fiber{name: "root goroutine", backend: Goroutine, carrier: c, g: identity.G()}
	c.load(h.root, Running)
	goroutines.insert(h.root.g, c)
	carriers.roots.Add(1)
	return h.root
}

// lockedToThread tells whether the calling goroutine is locked to its thread. The
// runtime says so nowhere but at the head of a stack trace.
func lockedToThread() bool {
	var buf [128]byte
	head, _, _ := strings.Cut(string(buf[:runtime.Stack(buf[:], false)]), "\n")
	return strings.Contains(head, "locked to thread")
}

// switchCoroutine is SwitchTo for two fibers of the Goroutine backend.
func switchCoroutine(f, to *Fiber) error {
	c, t := f.carrier, to.carrier
	if current := goroutines.lookup(identity.G()); current == nil {
		return ErrNoFiber
	} else if current != c || c.fiber.Load() != f {
		return ErrNotCurrent
	}
	if c == t {
		return ErrSelf
	}
	h := c.host
	if h == nil {
		h = c.co.host
	}
	if err := h.claim(to); err != nil {
		return err
	}
	if c.co != nil {
		c.co.leave(t)
		return nil
	}
	c.state.Store(f.generation | uint64(Suspended))
	h.drive(t)
	return nil
}

// claim makes to Running on h, or says why it cannot be run there.
func (h *host) claim(to *Fiber) error {
	t := to.carrier
	for {
		word := t.state.Load()
		if word&^stateMask != to.generation {
			return ErrClosed
		}
		switch State(word & stateMask) {
		case Closed:
			return ErrClosed
		case Running:
			return ErrRunning
		case Finished:
			return ErrFinished
		}
		if t.host != nil && t.host != h {
			return ErrForeignRoot
		}
		// A coroutine that is suspended has been started, and its pin is settled.
		if State(word&stateMask) == Suspended && t.co != nil && t.co.pin != h && (t.co.pin != nil || h.locked) {
			return ErrPinned
		}
		if t.state.CompareAndSwap(word, to.generation|uint64(Running)) {
			return nil
		}
	}
}

// drive runs t, which has been claimed, and whoever comes after it, until the
// root is claimed. It runs on the root's goroutine.
func (h *host) drive(t *carrier) {
	for t != h.root.carrier {
		co := t.co
		co.host = h
		if co.resume == nil {
			co.start(t)
		}
		co.run()
		t.state.Store(t.state.Load()&^stateMask | uint64(h.departed))
		t = h.target
	}
}

// run resumes the coroutine and returns when it has yielded or ended.
func (co *coroutine) run() {
	defer func() {
		if r := recover(); r != nil && r != (goexited{}) {
			panic(r)
		}
	}()
	co.resume()
}

// start makes the goroutine of a coroutine. The runtime ties it to the thread of
// a host that is locked.
func (co *coroutine) start(c *carrier) {
	if co.host.locked {
		co.pin = co.host
		co.host.pinned++
	}
	co.resume, _ = iter.Pull(func(yield func(struct{}) bool) {
		co.yield = yield
		g := identity.G()
		goroutines.insert(g, c)
		defer func() {
			goroutines.remove(g)
			if co.pin != nil {
				co.pin.pinned--
			}
			root := co.host.root
			co.host.target, co.host.departed = root.carrier, Finished
			root.carrier.state.Store(root.generation | uint64(Running))
		}()
		c.serve()
	})
}

// leave yields to the driver, which goes on with t, which has been claimed.
func (co *coroutine) leave(t *carrier) {
	co.host.target, co.host.departed = t, Suspended
	co.yield(struct{}{})
}
