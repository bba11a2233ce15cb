package fibersync_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"

	"fiberlab/internal/debug"
	"fiberlab/sched/fibersync"
	"fiberlab/tests/internal/check"
	"fiberlab/tests/internal/suite"
)

func TestMutexExcludesOthers(t *testing.T) {
	eachCompany(t, func(c *company) {
		const clients = 8
		rounds := suite.Scaled(50, 20)
		var m fibersync.Mutex
		count := 0 // a lost update, or the race detector, tells of two holders at once
		for range clients {
			c.start(func() {
				for range rounds {
					m.Lock()
					before := count
					pause()
					count = before + 1
					m.Unlock()
				}
			})
		}
		c.wait()
		assert.Equal(c.t, clients*rounds, count)
	})
}

func TestMutexTryLock(t *testing.T) {
	eachCompany(t, func(c *company) {
		var m fibersync.Mutex
		assert.True(c.t, m.TryLock())
		assert.False(c.t, m.TryLock(), "the mutex is held")
		var got atomic.Int64
		for range 4 {
			c.start(func() {
				if m.TryLock() {
					got.Add(1)
				}
			})
		}
		c.wait()
		assert.Zero(c.t, got.Load())
		m.Unlock()
		assert.True(c.t, m.TryLock(), "the mutex is free")
		m.Unlock()
	})
}

func TestMutexLockContext(t *testing.T) {
	eachCompany(t, func(c *company) {
		var m fibersync.Mutex
		m.Lock()
		over := inVain(c, m.LockContext)
		m.Unlock()
		assert.NoError(c.t, m.LockContext(over), "a free mutex is taken even if the context is over")
		m.Unlock()
	})
}

// A woken waiter gives up, since another client was faster. The next waiter goes
// on all the same.
func TestMutexWaiterThatGivesUpPassesItsWakeUpOn(t *testing.T) {
	eachCompany(t, func(c *company) {
		var m fibersync.Mutex
		var locked, doubt, taken, left, near fibersync.Event
		var in atomic.Int64
		c.start(func() {
			m.Lock()
			locked.Signal()
			doubt.Wait()
			m.Unlock() // lets the other out
			m.Lock()
			taken.Signal()
			near.Wait()
			pause()
			m.Unlock()
		})
		locked.Wait()
		c.start(func() {
			ctx := &lastMoment{Context: context.Background(), do: func() {
				doubt.Signal()
				taken.Wait()
			}}
			assert.ErrorIs(c.t, m.LockContext(ctx), context.Canceled)
			left.Signal()
		})
		left.Wait()
		c.start(func() {
			near.Signal()
			m.Lock() // for ever if this Unlock wakes no waiter
			in.Add(1)
			m.Unlock()
		})
		c.wait()
		assert.EqualValues(c.t, 1, in.Load())
		assert.True(c.t, m.TryLock(), "the mutex is free again")
	})
}

func TestMutexMisuse(t *testing.T) {
	eachCompany(t, func(c *company) {
		var m fibersync.Mutex
		check.PanicsWith(c.t, fibersync.ErrUnlocked, m.Unlock)
		m.Lock()
		c.start(func() { mutexContract(c.t, fibersync.ErrNotHolder, m.MustHold) })
		c.wait()
		m.MustHold()
		m.Unlock()
		mutexContract(c.t, fibersync.ErrUnlocked, m.MustHold)
		assert.True(c.t, m.TryLock(), "misuse has not changed it")
		m.Unlock()
	})
}

// mutexContract checks that f panics in debug builds, and does nothing in others.
func mutexContract(t *testing.T, want error, f func()) {
	if debug.On {
		check.PanicsWith(t, want, f)
		return
	}
	assert.NotPanics(t, f)
}

func TestMutexKnowsItsHolderInDebugBuilds(t *testing.T) {
	eachCompany(t, func(c *company) {
		var m fibersync.Mutex
		m.Lock()
		if debug.On {
			check.PanicsWith(c.t, fibersync.ErrHolder, m.Lock)
			check.PanicsWith(c.t, fibersync.ErrHolder, func() { _ = m.LockContext(context.Background()) })
		}
		c.start(func() {
			if debug.On {
				check.PanicsWith(c.t, fibersync.ErrNotHolder, m.Unlock)
				return
			}
			m.Unlock() // allowed, if not checked
		})
		c.wait()
		if debug.On {
			m.Unlock()
		}
		assert.True(c.t, m.TryLock())
	})
}
