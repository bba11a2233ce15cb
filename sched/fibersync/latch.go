package fibersync

import (
	"context"
	"errors"
	"fmt"

	"fiberlab/internal/spinlock"
)

// ErrOpen is the error of a latch that is counted down too often.
var ErrOpen = errors.New("the latch is open: count it down as often as NewLatch says, or make a new one")

// Latch opens when it has been counted down to zero, and stays open: flare's fiber::Latch. The
// zero value is open. It must not be copied.
type Latch struct {
	mu      spinlock.Lock
	left    int
	waiters waitQueue
	done    chan struct{} // see Done
}

// NewLatch returns a latch that opens after n calls of CountDown. It panics with an
// error that wraps ErrNegative if n is less than 0.
func NewLatch(n int) *Latch {
	if n < 0 {
		panic(fmt.Errorf("fibersync: latch of %d: %w", n, ErrNegative))
	}
	return &Latch{left: n}
}

// CountDown counts down by one, and opens the latch at zero. It does not block.
// It panics with an error that wraps ErrOpen if the latch is open.
func (l *Latch) CountDown() {
	l.mu.Lock()
	if l.left == 0 {
		l.mu.Unlock()
		panic(fmt.Errorf("fibersync: count a latch down: %w", ErrOpen))
	}
	l.left--
	if l.left > 0 {
		l.mu.Unlock()
		return
	}
	waiters, done := l.waiters.takeAll(), l.done
	l.mu.Unlock()
	handOffAll(waiters)
	closeDone(done)
}

// Open reports whether the latch is open. It does not block.
func (l *Latch) Open() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.left == 0
}

// Done returns a channel that is closed when the latch opens, for goroutines that select. A fiber
// calls Wait: receiving from the channel would block its thread.
func (l *Latch) Done() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return doneChannel(&l.done, l.left == 0)
}

// Wait blocks the caller until the latch is open.
func (l *Latch) Wait() { _ = l.wait(until{}) }

// WaitContext is Wait that gives up when ctx is done, and returns context.Cause(ctx) then.
func (l *Latch) WaitContext(ctx context.Context) error { return l.wait(within(ctx)) }

func (l *Latch) wait(u until) error {
	l.mu.Lock()
	if l.left == 0 {
		l.mu.Unlock()
		return nil
	}
	return l.waiters.wait(&l.mu, u)
}
