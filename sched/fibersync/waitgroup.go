package fibersync

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"fiberlab/internal/fault"
	"fiberlab/internal/spinlock"
)

// What can be wrong with the count of a wait group.
var (
	ErrOverflow     = errors.New("the count of a wait group would exceed 2^62-1: add less")
	ErrDoneTooOften = fault.Of(
		ErrNegative, "the count would be less than 0: call Add before the work begins, and Done once for each",
	)
)

// WaitGroup counts work that has begun and not ended, and lets callers wait until the count is
// zero: marl's WaitGroup. The zero value counts zero. It must not be copied.
//
// Add, Done and Wait happen one after another, even at zero. An Add at zero begins a new round,
// and does not concern the callers that waited for the last one. So the group may be used again at
// once. Still, if one caller adds from zero while another calls Wait, either may come first; so
// Add before the work that is counted begins.
type WaitGroup struct {
	state atomic.Int64 // the count times two, plus waited

	mu      spinlock.Lock
	waiters waitQueue
	zero    chan struct{} // see Zero
}

const (
	waited    = 1 // the next change to zero calls open. It is set and cleared with mu held
	mostCount = 1<<62 - 1
)

// Add adds delta, which may be negative, to the count, and at zero ends all waits. It does not
// block. If the count would become less than zero, or more than 2^62-1, Add leaves it alone and
// panics with an error that wraps ErrDoneTooOften, which wraps ErrNegative, or ErrOverflow.
func (g *WaitGroup) Add(delta int) {
	for {
		s := g.state.Load()
		n := s>>1 + int64(delta)
		if delta > 0 && (n > mostCount || n < 0) { // n < 0: not even an int64 can
			panic(fmt.Errorf("fibersync: add %d to a wait group of %d: %w", delta, s>>1, ErrOverflow))
		} else if n < 0 {
			panic(fmt.Errorf("fibersync: add %d to a wait group of %d: %w", delta, s>>1, ErrDoneTooOften))
		}
		if n == 0 && s&waited != 0 {
			if g.open(s) {
				return
			}
		} else if g.state.CompareAndSwap(s, n<<1|s&waited) {
			return
		}
	}
}

// Done subtracts one from the count; see Add.
func (g *WaitGroup) Done() { g.Add(-1) }

// open changes the state from s, with a count that is about to become zero, to zero, and ends
// all waits. It returns false if the state is no longer s.
func (g *WaitGroup) open(s int64) bool {
	g.mu.Lock()
	if !g.state.CompareAndSwap(s, 0) {
		g.mu.Unlock()
		return false
	}
	waiters, zero := g.waiters.takeAll(), g.zero
	g.zero = nil
	g.mu.Unlock()
	handOffAll(waiters)
	closeDone(zero)
	return true
}

// Go adds one to the count, has f called concurrently with the caller, and subtracts one when f returns, panics or ends
// its goroutine. f is a task of the caller's scheduler, or a goroutine if the caller has none; GoOn chooses the
// scheduler. Go does not wait for f, but for room for the task, if the scheduler limits that (sched.Config.MaxQueued).
// It panics with the scheduler's error if that does not accept the task, and with an error that wraps ErrNilFunc if f
// is nil.
func (g *WaitGroup) Go(f func()) { g.start(start, f) }

func (g *WaitGroup) start(start func(func()) error, f func()) {
	if f == nil {
		panic(fmt.Errorf("fibersync: a wait group's Go: %w", ErrNilFunc))
	}
	g.Add(1)
	body := func() {
		defer g.Done()
		f()
	}
	if err := start(body); err != nil {
		g.Done()
		panic(fmt.Errorf("fibersync: a wait group's Go: %w", err))
	}
}

// Zero returns a channel that is closed when the count is next zero; a closed one if it is zero
// now. It is for goroutines that select. A fiber calls Wait: receiving from the channel would
// block its thread.
func (g *WaitGroup) Zero() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return doneChannel(&g.zero, !g.markWaited())
}

// Wait blocks the caller until the count is zero.
func (g *WaitGroup) Wait() { _ = g.wait(until{}) }

// WaitContext is Wait that gives up when ctx is done, and returns context.Cause(ctx) then. It
// returns nil if the count becomes zero at the same moment.
func (g *WaitGroup) WaitContext(ctx context.Context) error { return g.wait(within(ctx)) }

func (g *WaitGroup) wait(u until) error {
	if g.state.Load()>>1 == 0 {
		return nil
	}
	g.mu.Lock()
	if !g.markWaited() {
		g.mu.Unlock()
		return nil
	}
	return g.waiters.wait(&g.mu, u)
}

// markWaited has the next Add that reaches zero call open, and returns true; or false if the count is
// zero. The caller holds mu.
func (g *WaitGroup) markWaited() bool {
	for {
		s := g.state.Load()
		if s>>1 == 0 {
			return false
		}
		if g.state.CompareAndSwap(s, s|waited) {
			return true
		}
	}
}
