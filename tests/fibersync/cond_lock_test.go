package fibersync_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"fiberlab/internal/debug"
	"fiberlab/sched/fibersync"
	"fiberlab/tests/internal/check"
)

// condLock is a lock whose owner says what happens when it is released.
type condLock struct{ unlock func() }

func (l *condLock) Lock() {}

func (l *condLock) Unlock() { l.unlock() }

// A client that gets the lock as soon as the wait has released it may signal; the signal is not lost.
func TestCondHearsSignalAtTheRelease(t *testing.T) {
	eachCompany(t, func(c *company) {
		lock := &condLock{}
		cond := fibersync.NewCond(lock)
		lock.unlock = cond.Signal
		c.start(cond.Wait)
		c.wait()
	})
}

// What has become true without a signal counts when the time is over.
func TestCondLooksOnceMoreAtTheEnd(t *testing.T) {
	eachCompany(t, func(c *company) {
		c.start(func() {
			ready := false
			cond := fibersync.NewCond(&condLock{unlock: func() { ready = true }})
			assert.True(c.t, cond.AwaitFor(0, func() bool { return ready }))
			ready = false
			over, cancel := context.WithCancel(context.Background())
			cancel()
			assert.NoError(c.t, cond.AwaitContext(over, func() bool { return ready }))
			assert.ErrorIs(c.t, cond.AwaitContext(over, func() bool { return false }), context.Canceled)
			assert.False(c.t, cond.AwaitUntil(time.Now(), func() bool { return false }))
			assert.False(c.t, cond.AwaitUntil(time.Time{}, func() bool { return false }))
		})
	})
}

var errHeld = errors.New("the lock is not held")

// A lock that panics because it is not held leaves no waiter in the queue, and takes no signal.
func TestCondSurvivesThePanicOfItsLock(t *testing.T) {
	eachCompany(t, func(c *company) {
		lock := &condLock{unlock: func() { panic(errHeld) }}
		cond := fibersync.NewCond(lock)
		check.PanicsWith(c.t, errHeld, cond.Wait)

		wait := func(_ int, ctx context.Context) { assert.NoError(c.t, condWait(cond, ctx)) }
		lock.unlock = func() {
			cond.L = &sync.Mutex{}
			queueUp(c, 1, context.Background(), wait) // behind the waiter that is about to fail
			cond.Signal()
			panic(errHeld)
		}
		check.PanicsWith(c.t, errHeld, cond.Wait)
		c.wait()
	})
}

// toldLock can report that it is not held.
type toldLock struct{ sync.Mutex }

func (*toldLock) MustHold() { panic(errHeld) }

func TestCondMisuse(t *testing.T) {
	always := func() bool { return true }
	var zero fibersync.Cond
	zero.Signal()
	zero.Broadcast()
	check.PanicsWith(t, fibersync.ErrNoLock, zero.Wait)
	check.PanicsWith(t, fibersync.ErrNoLock, func() { zero.Await(always) })
	if debug.On {
		cond := fibersync.NewCond(&toldLock{})
		check.PanicsWith(t, errHeld, cond.Wait)
		check.PanicsWith(t, errHeld, func() { cond.Await(always) })
	}
	cond := fibersync.NewCond(&condLock{})
	check.PanicsWith(t, errHeld, func() { cond.Await(func() bool { panic(errHeld) }) })
}

// A wait without the lock speaks of the wait, and changes nothing: the lock can be locked, and the condition used.
func TestCondWaitWithoutTheLock(t *testing.T) {
	eachCompany(t, func(c *company) {
		for _, lock := range []sync.Locker{new(fibersync.Mutex), new(fibersync.RWMutex), new(sync.Mutex)} {
			cond := fibersync.NewCond(lock)
			wait := func() { check.PanicsWith(c.t, fibersync.ErrNotLocked, cond.Wait) }
			wait()
			check.PanicsWith(c.t, fibersync.ErrUnlocked, func() { cond.Await(func() bool { return false }) })
			c.start(wait)
			c.wait()
			if _, foreign := lock.(*sync.Mutex); debug.On && !foreign { // another one holds it
				lock.Lock()
				c.start(wait)
				c.wait()
				lock.Unlock()
			}
			lock.Lock()
			assert.False(c.t, cond.AwaitFor(0, func() bool { return false }))
			lock.Unlock()
			assert.Zero(c.t, cond.Waiting())
		}
	})
}

func TestCondWaitWithoutTheLockNamesTheRemedy(t *testing.T) {
	defer func() {
		err, _ := recover().(error)
		assert.EqualError(
			t, err,
			"fibersync: wait on a condition: the caller does not hold the condition's lock: lock L before the wait",
		)
	}()
	fibersync.NewCond(new(sync.Mutex)).Wait()
}
