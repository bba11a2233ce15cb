package fibersync

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"fiberlab/internal/debug"
	"fiberlab/internal/spinlock"
)

// ErrNoLock is the error of a wait on a condition without a lock.
var ErrNoLock = errors.New("the condition has no lock: set L, or use NewCond")

// Cond is a line of those who wait until something that L guards has changed: marl's and
// flare's ConditionVariable. It must not be copied.
//
// A condition keeps no signals: one that comes while nobody waits is lost. And who has
// been woken finds the world as the others left it, for between the signal and the
// return of Wait anybody may have taken the lock. Therefore, a wait is a loop around a
// predicate on what L guards:
//
//	c.L.Lock()
//	for !pred() {
//		c.Wait()
//	}
//	...
//	c.L.Unlock()
//
// Await is that loop. Whoever makes the predicate true holds L meanwhile, and calls
// Signal or Broadcast then or later; no wake-up can be lost between the predicate and
// the wait, because who waits is in the line before L is released.
type Cond struct {
	L sync.Locker // a sync.Mutex that is held for moments only, or a lock of this package

	guard spinlock.Lock
	line  line
	busy  atomic.Bool // false: nobody stands in the line. It is written under the guard
}

// NewCond makes a condition with the lock l.
func NewCond(l sync.Locker) *Cond { return &Cond{L: l} }

// Signal wakes the one who has waited longest, fiber or goroutine, if anybody waits:
// marl's notify_one. L may be held, and need not be. It does not block.
func (c *Cond) Signal() {
	if !c.busy.Load() {
		return
	}
	c.guard.Lock()
	w := c.line.pop()
	c.busy.Store(!c.line.empty())
	c.guard.Unlock()
	if w != nil {
		w.grant()
	}
}

// Broadcast wakes all who wait: marl's notify_all. L may be held, and need not be. It
// does not block.
func (c *Cond) Broadcast() {
	if !c.busy.Load() {
		return
	}
	c.guard.Lock()
	waiters := c.line.takeAll()
	c.busy.Store(false)
	c.guard.Unlock()
	grantAll(waiters)
}

// Waiting returns how many stand in the line: who wait, and have not been woken. L may be
// held, and need not be; with L held, none can join meanwhile. It does not block.
func (c *Cond) Waiting() int {
	c.guard.Lock()
	defer c.guard.Unlock()
	return c.line.length
}

// Wait releases L, blocks the caller until a Signal or Broadcast has woken it, and
// locks L again. L must be held. Signals go to those who wait in the order of
// their coming; it wakes for no other reason. It panics with an error that wraps
// ErrNoLock if L is nil.
func (c *Cond) Wait() { _ = c.wait(until{}) }

// WaitContext is Wait that gives up when ctx is over, and returns its error then. L is
// held again in any case, and locking it heeds no context. A signal that comes at the
// same moment is either this caller's, who gets nil, or another's: none is lost.
func (c *Cond) WaitContext(ctx context.Context) error { return c.wait(within(ctx)) }

// Await blocks the caller until pred holds: marl's wait with a predicate. L must be
// held; it is held whenever pred is called, and when Await returns or pred panics.
func (c *Cond) Await(pred func() bool) { _ = c.await(until{}, pred) }

// AwaitContext is Await that gives up when ctx is over. It returns the context's error if
// pred does not hold even then.
func (c *Cond) AwaitContext(ctx context.Context, pred func() bool) error {
	return c.await(within(ctx), pred)
}

// AwaitFor is Await for no longer than d, and tells whether pred holds: marl's wait_for.
func (c *Cond) AwaitFor(d time.Duration, pred func() bool) bool {
	return c.AwaitUntil(time.Now().Add(d), pred)
}

// AwaitUntil is Await for no longer than to deadline, and tells whether pred holds:
// marl's wait_until.
func (c *Cond) AwaitUntil(deadline time.Time, pred func() bool) bool {
	return c.await(by(deadline), pred) == nil
}

func (c *Cond) await(u until, pred func() bool) error {
	c.mustHold()
	for !pred() {
		if err := c.wait(u); err != nil {
			if pred() {
				return nil
			}
			return err
		}
	}
	return nil
}

func (c *Cond) wait(u until) error {
	c.mustHold()
	w := newWaiter()
	w.awaits((*awaitedCond)(c))
	c.guard.Lock()
	c.line.push(w)
	c.busy.Store(true)
	c.guard.Unlock()
	c.release(w)
	err := c.line.stay(&c.guard, w, u)
	w.free()
	c.L.Lock()
	return err
}

// release unlocks L for the caller, whose waiter is w. If L panics because it is not
// held, nobody waits by w: it leaves the line, and passes on a signal that it has got.
func (c *Cond) release(w *waiter) {
	released := false
	defer func() {
		if !released && c.line.stay(&c.guard, w, until{ctx: over}) == nil {
			c.Signal()
		}
	}()
	c.L.Unlock()
	released = true
}

// over is a context that is.
var over = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// mustHold panics if L is missing or, in debug builds, if it can tell that the caller
// does not hold it.
func (c *Cond) mustHold() {
	if c.L == nil {
		panic(fmt.Errorf("fibersync: wait on a condition: %w", ErrNoLock))
	}
	if debug.On {
		if l, ok := c.L.(interface{ MustHold() }); ok {
			l.MustHold()
		}
	}
}
