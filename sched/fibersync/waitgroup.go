package fibersync

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"fiberlab/internal/spinlock"
)

// ErrOverflow is the error of a wait group that cannot count so many.
var ErrOverflow = errors.New("more than a wait group can count: the most is 2^62-1")

// WaitGroup counts what has begun and has not ended, and lets others wait until it is
// nothing: marl's WaitGroup. The zero value counts nothing. It must not be copied.
//
// It is a number, and Add, Done and Wait happen one after another, even at zero: an Add
// at zero begins a new round, in which those who have waited for the last one
// have no part. So it may be used again at once. Still, who adds from zero while
// another calls Wait does not know which of them comes first; Add before what is
// counted begins.
type WaitGroup struct {
	state atomic.Int64 // the count times two, plus waited

	guard spinlock.Lock
	line  line
}

const (
	waited    = 1 // somebody may stand in the line. It is set and cleared under the guard
	mostCount = 1<<62 - 1
)

// Add adds delta, which may be negative, to the count, and at zero lets all who wait go
// on. It does not block. It panics, and leaves the count alone, if that would become
// less than zero, with an error that wraps ErrNegative, or more than 2^62-1, with ErrOverflow.
func (g *WaitGroup) Add(delta int) {
	for {
		s := g.state.Load()
		n := s>>1 + int64(delta)
		if delta > 0 && (n > mostCount || n < 0) { // n < 0: not even an int64 can
			panic(fmt.Errorf("fibersync: add %d to a wait group of %d: %w", delta, s>>1, ErrOverflow))
		} else if n < 0 {
			panic(fmt.Errorf("fibersync: add %d to a wait group of %d: %w", delta, s>>1, ErrNegative))
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

// Done takes one from the count; see Add.
func (g *WaitGroup) Done() { g.Add(-1) }

// open changes the state from s, the last before zero, to zero, and lets all who wait
// go on. It returns false if the state is no longer s.
func (g *WaitGroup) open(s int64) bool {
	g.guard.Lock()
	if !g.state.CompareAndSwap(s, 0) {
		g.guard.Unlock()
		return false
	}
	waiters := g.line.takeAll()
	g.guard.Unlock()
	grantAll(waiters)
	return true
}

// Go counts one, and has f called: by another fiber of the caller's scheduler if the
// caller is a fiber that has one, else on a goroutine. When f returns, panics or ends its
// goroutine, it is counted down. Go does not wait for f. It panics with the scheduler's
// error if that accepts no task.
func (g *WaitGroup) Go(f func()) {
	g.Add(1)
	body := func() {
		defer g.Done()
		f()
	}
	if err := begin(body); err != nil {
		g.Done()
		panic(fmt.Errorf("fibersync: a wait group's Go: %w", err))
	}
}

// Wait blocks the caller until the count is zero.
func (g *WaitGroup) Wait() { _ = g.wait(until{}) }

// WaitContext is Wait that gives up when ctx is over, and returns its error then. It
// returns nil if the count becomes zero at the same moment.
func (g *WaitGroup) WaitContext(ctx context.Context) error { return g.wait(within(ctx)) }

func (g *WaitGroup) wait(u until) error {
	if g.state.Load()>>1 == 0 {
		return nil
	}
	g.guard.Lock()
	for {
		s := g.state.Load()
		if s>>1 == 0 {
			g.guard.Unlock()
			return nil
		}
		if g.state.CompareAndSwap(s, s|waited) {
			return g.line.wait(&g.guard, u)
		}
	}
}
