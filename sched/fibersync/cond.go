package fibersync

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"fiberlab/internal/debug"
	"fiberlab/internal/fault"
	"fiberlab/internal/spinlock"
)

// What can be wrong with the lock of a condition.
var (
	ErrNoLock    = errors.New("the condition has no lock: set L, or use NewCond")
	ErrNotLocked = fault.Of(ErrUnlocked, "the caller does not hold the condition's lock: lock L before the wait")
)

// Cond is a condition variable: callers wait until something that L guards has changed. It is
// marl's and flare's ConditionVariable. It must not be copied.
//
// A condition does not remember signals: a signal that comes while no caller waits is lost. And
// between the signal and the return of Wait another caller may lock L and change what it
// guards. Therefore a wait is a loop around a predicate on what L guards:
//
//	c.L.Lock()
//	for !pred() {
//		c.Wait()
//	}
//	...
//	c.L.Unlock()
//
// Await is that loop. The code that makes the predicate true holds L while it does so, and
// calls Signal or Broadcast then or later. The waiter is in the queue before L is released, so
// no wake-up can be lost between the predicate and the wait.
type Cond struct {
	L sync.Locker // a sync.Mutex that is held for moments only, or a lock of this package

	mu      spinlock.Lock
	waiters waitQueue
	busy    atomic.Bool // false: the queue is empty. Written with mu held
}

// NewCond makes a condition with the lock l.
func NewCond(l sync.Locker) *Cond { return &Cond{L: l} }

// Signal wakes the fiber or goroutine that has waited longest, if any waits: marl's notify_one.
// The caller may hold L or not. It does not block.
func (c *Cond) Signal() {
	if !c.busy.Load() {
		return
	}
	c.mu.Lock()
	w := c.waiters.pop()
	c.busy.Store(!c.waiters.empty())
	c.mu.Unlock()
	if w != nil {
		w.handOff()
	}
}

// Broadcast wakes all waiters: marl's notify_all. The caller may hold L or not. It does not
// block.
func (c *Cond) Broadcast() {
	if !c.busy.Load() {
		return
	}
	c.mu.Lock()
	waiters := c.waiters.takeAll()
	c.busy.Store(false)
	c.mu.Unlock()
	handOffAll(waiters)
}

// Waiting returns the number of waiters that have not been woken. The caller may hold L or not;
// if it does, no waiter can arrive during the call. It does not block.
func (c *Cond) Waiting() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.waiters.length
}

// Wait releases L, blocks the caller until a Signal or Broadcast has woken it, and locks L
// again. The caller holds L. Signals go to waiters in the order of their arrival; Wait returns
// for no other reason. It panics with an error that wraps ErrNoLock if L is nil, or ErrNotLocked if L is not locked. It
// notices the latter of a Mutex or an RWMutex of this package and of a sync.Mutex.
func (c *Cond) Wait() { _ = c.wait(until{}) }

// WaitContext is Wait that gives up when ctx is done, and returns context.Cause(ctx) then. It
// returns with L held in any case; locking L does not end with ctx. A signal that comes at the
// same moment is either this caller's, and the error is nil, or another waiter's: none is lost.
func (c *Cond) WaitContext(ctx context.Context) error { return c.wait(within(ctx)) }

// Await blocks the caller until pred holds: marl's wait with a predicate. The caller holds L; L
// is held whenever pred is called, and when Await returns or pred panics. It panics as Wait does.
func (c *Cond) Await(pred func() bool) { _ = c.await(until{}, pred) }

// AwaitContext is Await that gives up when ctx is done. It returns context.Cause(ctx) if pred
// does not hold even then.
func (c *Cond) AwaitContext(ctx context.Context, pred func() bool) error {
	return c.await(within(ctx), pred)
}

// AwaitFor is Await for at most d, and reports whether pred holds: marl's wait_for.
func (c *Cond) AwaitFor(d time.Duration, pred func() bool) bool {
	return c.AwaitUntil(time.Now().Add(d), pred)
}

// AwaitUntil is Await until deadline at the latest, and reports whether pred holds: marl's
// wait_until.
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
	w := newWaiter(nil)
	w.what = (*awaitedCond)(c)
	c.mu.Lock()
	c.waiters.push(w)
	c.busy.Store(true)
	c.mu.Unlock()
	c.release(w)
	err := c.waiters.awaitOrLeave(&c.mu, w, u)
	w.free()
	c.L.Lock()
	return err
}

// release unlocks L for the caller, whose waiter is w. If L panics because it is not held, w
// leaves the queue, and passes on a signal that it has got.
func (c *Cond) release(w *waiter) {
	released := false
	defer func() {
		if !released && c.waiters.awaitOrLeave(&c.mu, w, until{Context: cancelled}) == nil {
			c.Signal()
		}
	}()
	c.L.Unlock()
	released = true
}

// cancelled is a context that is done.
var cancelled = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// mustHold panics if there is no L, if nothing holds L, or, in debug builds, if L can say that the caller does not
// hold it.
func (c *Cond) mustHold() {
	held := true
	switch l := c.L.(type) {
	case nil:
		panic(fmt.Errorf("fibersync: wait on a condition: %w", ErrNoLock))
	case *sync.Mutex:
		if held = !l.TryLock(); !held { // its Unlock would end the program
			l.Unlock()
		}
	case *Mutex:
		held = l.held() && l.holder.mayBeHere()
	case *RWMutex:
		held = l.writer.held() && l.writer.holder.mayBeHere()
	case interface{ MustHold() }:
		if debug.On {
			l.MustHold()
		}
	}
	if !held {
		panic(fmt.Errorf("fibersync: wait on a condition: %w", ErrNotLocked))
	}
}
