package fiber

import (
	"errors"
	"fmt"
	"unsafe"

	"fiberlab/stack"
)

// Fiber is a function on a separate stack, or what runs on a thread's stack (a root).
// Its methods may be called from any goroutine unless they say otherwise. The zero value
// is Closed and cannot be switched to. Make a Fiber by New, NewC or Attach, and end it by
// Close or, if it is a root, by Detach: until then it keeps its runner.
type Fiber struct {
	name       string
	backend    Backend
	runner     *runner
	generation uint64 // the runner's while this fiber uses it, shifted
	body       func()
	g          uintptr    // root: the goroutine that it is
	lock       threadLock // hand-switched root: how that is tied to its thread
	ticks      bool       // hand-switched root: it wants the tick; see tickFor
	value      any
}

// State is where a fiber is in its life.
type State uint8

const (
	Closed    State = iota // given back; nothing can be done with it
	Ready                  // never entered
	Running                // on a thread now
	Suspended              // in mid-function, until another fiber switches to it
	Finished               // the body has returned; Close is due

	moving // Suspended to all but this package: on the way from one resume handle to another
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
// finds its own fiber by Current. New takes an idle runner from the pool if
// there is one. Otherwise the first switch gives the new runner its identity in the
// Go runtime, and costs some 10 us.
//
// If the body panics, the program ends with the fiber's own stack, as it does for
// a goroutine. If it calls runtime.Goexit, the fiber finishes as if the body had
// returned.
//
// New returns ErrNoBody, ErrBackend, ErrUnsupported, ErrStackSize, ErrNoMemory or an error of
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
	r, err := runners.take(k)
	if err != nil {
		return nil, &Error{"new", cfg.Name, err}
	}
	f := &Fiber{name: cfg.Name, backend: k.backend, runner: r, body: body}
	r.load(f, Ready)
	return f, nil
}

// NewC makes a fiber that will call the C function fn, a void (*)(void *), with
// arg when it is first switched to. fiberlab.h is the interface for such a body.
//
// A C body that calls Go needs a stack of MinGoStack bytes or more. NewC returns the
// errors of New, and ErrBackend on Goroutine, which runs no C bodies. arg must not point
// to Go memory unless that is pinned until the fiber is closed.
func NewC(cfg Config, fn, arg unsafe.Pointer) (*Fiber, error) {
	if fn == nil {
		return nil, &Error{"new", cfg.Name, ErrNoBody}
	}
	k, err := cfg.kind(cBody)
	if err != nil {
		return nil, &Error{"new", cfg.Name, err}
	}
	r, err := runners.take(k)
	if err != nil {
		return nil, &Error{"new", cfg.Name, err}
	}
	r.setBody(fn, arg)
	tickFor(demand{bodies: 1})
	f := &Fiber{name: cfg.Name, backend: k.backend, runner: r}
	r.load(f, Ready)
	return f, nil
}

// isRoot reports whether f was made by Attach.
func (f *Fiber) isRoot() bool { return f.g != 0 }

// SetValue attaches a value of the caller's to the fiber, for Value to return. It is
// not synchronized: set it before another goroutine knows the fiber. It panics with an *Error
// that wraps ErrNotMade if f is nil.
func (f *Fiber) SetValue(v any) {
	if f == nil {
		panic(&Error{"set the value", "", ErrNotMade})
	}
	f.value = v
}

// Value returns the value that SetValue was given last, or nil.
func (f *Fiber) Value() any {
	if f == nil {
		return nil
	}
	return f.value
}

// Name returns the fiber's name.
func (f *Fiber) Name() string {
	if f == nil {
		return ""
	}
	return f.name
}

// SetName replaces the name that Attach has given the root f, for reports. It is not
// synchronized: set it before another goroutine knows the fiber. It does nothing to other fibers.
func (f *Fiber) SetName(name string) {
	if f == nil || !f.isRoot() || f.State() == Closed {
		return
	}
	f.name = name
	f.runner.describe(f)
	f.runner.nameBlock(f)
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
	if f == nil || f.runner == nil {
		return Closed
	}
	word := f.runner.state.Load()
	if word&^stateMask != f.generation {
		return Closed
	}
	if s := State(word & stateMask); s != moving {
		return s
	}
	return Suspended
}

// Close ends a fiber that was never entered or whose body has returned, and gives
// its runner back to the pool. For any other it returns ErrRunning, ErrSuspended,
// ErrClosed, ErrRoot or, for nil and the zero value, ErrNotMade, and does nothing. The
// frames of a suspended function cannot be discarded, because what they hold would be lost.
// If the pool is full, Close blocks until the runner's identity has been dropped. If that
// fails, Close returns the reason, and the fiber is Closed all the same.
func (f *Fiber) Close() error {
	r, err := f.leaveRunner()
	if err != nil || runners.keep(r) {
		return err
	}
	if err := retire([]*runner{r}); err != nil {
		return &Error{"close", f.name, err}
	}
	return nil
}

// CloseAll closes each of fibers as Close does, but blocks only once while identities
// are dropped. It returns the joined errors of the fibers that it could not close.
func CloseAll(fibers ...*Fiber) error {
	var errs []error
	var surplus []*runner
	for _, f := range fibers {
		if r, err := f.leaveRunner(); err != nil {
			errs = append(errs, err)
		} else if !runners.keep(r) {
			surplus = append(surplus, r)
		}
	}
	if len(surplus) > 0 {
		if err := retire(surplus); err != nil {
			errs = append(errs, &Error{"close", "", err})
		}
	}
	return errors.Join(errs...)
}

// leaveRunner makes f Closed, if it may be, and returns its runner, which no fiber uses then.
func (f *Fiber) leaveRunner() (*runner, error) {
	if f == nil || f.runner == nil {
		return nil, &Error{"close", "", ErrNotMade}
	}
	r := f.runner
	for {
		word := r.state.Load()
		state := State(word & stateMask)
		switch {
		case word&^stateMask != f.generation || state == Closed:
			return nil, &Error{"close", f.name, ErrClosed}
		case f.isRoot():
			return nil, &Error{"close", f.name, ErrRoot}
		case state == Running:
			return nil, &Error{"close", f.name, ErrRunning}
		case state == Suspended || state == moving:
			return nil, &Error{"close", f.name, ErrSuspended}
		}
		if r.state.CompareAndSwap(word, f.generation|uint64(Closed)) {
			r.fiber.Store(nil)
			if r.kind.body == cBody {
				tickFor(demand{bodies: -1})
			}
			return r, nil
		}
	}
}

// Handle returns the fiber's control block, a fiberlab_fiber * to C, or nil on the
// Goroutine backend. It is good until the fiber is closed.
func (f *Fiber) Handle() unsafe.Pointer {
	if f == nil || f.runner == nil {
		return nil
	}
	return unsafe.Pointer(f.runner.block)
}

// Stack returns the fiber's C stack, or nil for a root and on the Goroutine backend. The caller must not use it after
// the fiber is closed, nor put it back.
func (f *Fiber) Stack() *stack.Stack {
	if f == nil || f.runner == nil {
		return nil
	}
	return f.runner.stack
}
