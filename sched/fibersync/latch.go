package fibersync

import (
	"context"
	"errors"
	"fmt"

	"fiberlab/internal/spinlock"
)

// ErrOpen is the error of a latch that has been counted down too often.
var ErrOpen = errors.New("the latch is open: make a new one")

// Latch opens once, when it has been counted down to zero, and stays open. The zero
// value is open. It must not be copied.
type Latch struct {
	guard spinlock.Lock
	left  int
	line  line
}

// NewLatch makes a latch that opens after n calls of CountDown. It panics with an
// error that wraps ErrNegative if n is less than 0.
func NewLatch(n int) *Latch {
	if n < 0 {
		panic(fmt.Errorf("fibersync: latch of %d: %w", n, ErrNegative))
	}
	return &Latch{left: n}
}

// CountDown counts one down, and at zero lets all who wait go on. It does not block.
// It panics with an error that wraps ErrOpen if the latch is open.
func (l *Latch) CountDown() {
	l.guard.Lock()
	if l.left == 0 {
		l.guard.Unlock()
		panic(fmt.Errorf("fibersync: count a latch down: %w", ErrOpen))
	}
	l.left--
	var waiters *waiter
	if l.left == 0 {
		waiters = l.line.takeAll()
	}
	l.guard.Unlock()
	grantAll(waiters)
}

// Open tells whether the latch is open. It does not block.
func (l *Latch) Open() bool {
	l.guard.Lock()
	defer l.guard.Unlock()
	return l.left == 0
}

// Wait blocks the caller until the latch is open.
func (l *Latch) Wait() { _ = l.wait(until{}) }

// WaitContext is Wait that gives up when ctx is over, and returns its error then.
func (l *Latch) WaitContext(ctx context.Context) error { return l.wait(within(ctx)) }

func (l *Latch) wait(u until) error {
	l.guard.Lock()
	if l.left == 0 {
		l.guard.Unlock()
		return nil
	}
	return l.line.wait(&l.guard, u)
}
