package fiber

import (
	"errors"
	"fmt"
	"unsafe"

	"fiberlab/stack"
)

// Fiber is a function with a stack of its own, or a thread's own stack (a root).
// Its methods may be called from any goroutine unless they say otherwise. The zero value
// is Closed and cannot be switched to; those of New, NewC and Attach can. Such a Fiber
// must be ended by Close or, if it is a root, by Detach; until then it keeps its
// carrier.
type Fiber struct {
	name       string
	backend    Backend
	carrier    *carrier
	generation uint64 // the carrier's while this fiber uses it, shifted
	body       func()
	g          uintptr    // root: the goroutine that it is
	lock       threadLock // hand-switched root: how that is tied to its thread
	value      any
}

// State is where a fiber is in its life.
type State uint8

const (
	Closed    State = iota // given back; nothing can be done with it
	Ready                  // never entered
	Running                // on a thread now
	Suspended              // in mid-function, until somebody switches to it
	Finished               // the body has returned; Close is due

	moving // Suspended to all but this package: on the way from one seat to another
)

var stateNames = [...]string{"Closed", "Ready", "Running", "Suspended", "Finished"}

// String returns the state's name.
func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return fmt.Sprintf("State(%d)", uint8(s))
}

// New makes a fiber that will run body when it is first switched to. The body
// finds its own fiber by Current. It takes a carrier from the pool if one idles
// there; otherwise the carrier gets its identity in the Go runtime at the first
// switch, which then costs some 10 us.
//
// If the body panics, the program ends with the fiber's own stack, as it does for
// a goroutine. If it calls runtime.Goexit, the fiber finishes as if the body had
// returned.
//
// New returns ErrNoBody, ErrBackend, ErrUnsupported, ErrStackSize or an error of
// package stack. It may be called from any goroutine and does not block. Package
// initialisation may make fibers but not enter them: until main begins, the
// runtime lets no C code call Go, and that is how a Go body starts.
func New(cfg Config, body func()) (*Fiber, error) {
	if body == nil {
		return nil, &Error{"new", cfg.Name, ErrNoBody}
	}
	k, err := cfg.kind(goBody)
	if err != nil {
		return nil, &Error{"new", cfg.Name, err}
	}
	c, err := carriers.take(k)
	if err != nil {
		return nil, &Error{"new", cfg.Name, err}
	}
	f := &Fiber{name: cfg.Name, backend: k.backend, carrier: c, body: body}
	c.load(f, Ready)
	return f, nil
}

// NewC makes a fiber that will call the C function fn, a void (*)(void *), with
// arg when it is first switched to. fiberlab.h is the face that such a body has.
//
// A C body that calls Go should be given MinGoStack at least. NewC returns the
// errors of New. The Goroutine backend runs no C bodies: asked
// for it, NewC returns ErrBackend. arg must not point to Go memory unless that is
// pinned until the fiber is closed.
func NewC(cfg Config, fn, arg unsafe.Pointer) (*Fiber, error) {
	if fn == nil {
		return nil, &Error{"new", cfg.Name, ErrNoBody}
	}
	k, err := cfg.kind(cBody)
	if err != nil {
		return nil, &Error{"new", cfg.Name, err}
	}
	c, err := carriers.take(k)
	if err != nil {
		return nil, &Error{"new", cfg.Name, err}
	}
	c.setBody(fn, arg)
	f := &Fiber{name: cfg.Name, backend: k.backend, carrier: c}
	c.load(f, Ready)
	return f, nil
}

// isRoot tells whether f is a goroutine that attached itself.
func (f *Fiber) isRoot() bool { return f.g != 0 }

// SetValue hangs something of the caller's on the fiber, for Value to return. It is
// not synchronized: set it before anybody else knows the fiber. It panics with an *Error
// that wraps ErrNotMade if f is nil.
func (f *Fiber) SetValue(v any) {
	if f == nil {
		panic(&Error{"set the value", "", ErrNotMade})
	}
	f.value = v
}

// Value returns what SetValue was given last, or nil.
func (f *Fiber) Value() any {
	if f == nil {
		return nil
	}
	return f.value
}

// Name returns the name that the fiber was given.
func (f *Fiber) Name() string {
	if f == nil {
		return ""
	}
	return f.name
}

// SetName gives the root f a name in the place of the one that Attach has given it, for reports. It is not
// synchronized: set it before anybody else knows the fiber. It does nothing to other fibers.
func (f *Fiber) SetName(name string) {
	if f == nil || !f.isRoot() || f.State() == Closed {
		return
	}
	f.name = name
	f.carrier.describe(f)
	f.carrier.nameBlock(f)
}

// Backend returns the backend that the fiber was made for.
func (f *Fiber) Backend() Backend {
	if f == nil {
		return Default
	}
	return f.backend
}

// State returns the fiber's state at some moment during the call.
func (f *Fiber) State() State {
	if f == nil || f.carrier == nil {
		return Closed
	}
	word := f.carrier.state.Load()
	if word&^stateMask != f.generation {
		return Closed
	}
	if s := State(word & stateMask); s != moving {
		return s
	}
	return Suspended
}

// Close ends a fiber that was never entered or whose body has returned, and gives
// its carrier back to the pool. For any other it returns ErrRunning, ErrSuspended,
// ErrClosed or ErrRoot and does nothing: the frames of a suspended function cannot
// be thrown away, because what they hold would be lost. If the pool is full, Close
// waits until the carrier's identity has been dropped.
func (f *Fiber) Close() error {
	c, err := f.leaveCarrier()
	if err != nil || carriers.keep(c) {
		return err
	}
	if err := retire([]*carrier{c}); err != nil {
		return &Error{"close", f.name, err}
	}
	return nil
}

// CloseAll closes each of fibers as Close does, but waits only once for all whose
// identities are dropped. It returns the errors of those that it could not close, joined.
func CloseAll(fibers ...*Fiber) error {
	var errs []error
	var surplus []*carrier
	for _, f := range fibers {
		if c, err := f.leaveCarrier(); err != nil {
			errs = append(errs, err)
		} else if !carriers.keep(c) {
			surplus = append(surplus, c)
		}
	}
	if len(surplus) > 0 {
		if err := retire(surplus); err != nil {
			errs = append(errs, &Error{"close", "", err})
		}
	}
	return errors.Join(errs...)
}

// leaveCarrier makes f Closed, if it may be, and returns its carrier, which is nobody's then.
func (f *Fiber) leaveCarrier() (*carrier, error) {
	if f == nil || f.carrier == nil {
		return nil, &Error{"close", "", ErrNotMade}
	}
	c := f.carrier
	for {
		word := c.state.Load()
		if word&^stateMask != f.generation {
			return nil, &Error{"close", f.name, ErrClosed}
		}
		if f.isRoot() {
			return nil, &Error{"close", f.name, ErrRoot}
		}
		switch State(word & stateMask) {
		case Running:
			return nil, &Error{"close", f.name, ErrRunning}
		case Suspended, moving:
			return nil, &Error{"close", f.name, ErrSuspended}
		case Closed:
			return nil, &Error{"close", f.name, ErrClosed}
		}
		if c.state.CompareAndSwap(word, f.generation|uint64(Closed)) {
			c.unload()
			return c, nil
		}
	}
}

// Handle returns the fiber's control block, a fiberlab_fiber * to C, or nil on the
// Goroutine backend. It is good until the fiber is closed.
func (f *Fiber) Handle() unsafe.Pointer {
	if f == nil || f.carrier == nil {
		return nil
	}
	return unsafe.Pointer(f.carrier.block)
}

// Stack returns the fiber's C stack, or nil for a root and on the Goroutine
// backend. It must not be used after the fiber is closed, and not be put back. Its Clear
// works on a fiber that was never entered and on a finished C body, and returns ErrStackInUse
// otherwise: after a Go body the goroutine that it ran on still has frames there.
func (f *Fiber) Stack() *stack.Stack {
	if f == nil || f.carrier == nil {
		return nil
	}
	return f.carrier.stack
}
