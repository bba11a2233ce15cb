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

func TestRWMutexLetsReadersInTogether(t *testing.T) {
	eachCompany(t, func(c *company) {
		const readers = 6
		var m fibersync.RWMutex
		all := fibersync.NewLatch(readers)
		for range readers {
			c.start(func() {
				m.RLock()
				all.CountDown()
				all.Wait() // for ever if it were one at a time
				assert.False(c.t, m.TryLock(), "readers are in")
				m.RUnlock()
			})
		}
		c.wait()
		assert.True(c.t, m.TryLock(), "the lock is free")
		assert.False(c.t, m.TryRLock(), "a writer is in")
		assert.False(c.t, m.TryLock(), "a writer is in")
		m.Unlock()
	})
}

func TestRWMutexExcludesWriters(t *testing.T) {
	eachCompany(t, func(c *company) {
		const clients = 8
		rounds := suite.Scaled(20, 10)
		var m fibersync.RWMutex
		var torn atomic.Int64
		a, b := 0, 0
		for i := range clients {
			c.start(func() {
				for range rounds {
					if i%2 == 0 {
						m.Lock()
						a++
						pause()
						b++
						m.Unlock()
						continue
					}
					m.RLock()
					first := a
					pause()
					if first != b || first != a {
						torn.Add(1)
					}
					m.RUnlock()
				}
			})
		}
		c.wait()
		assert.Zero(c.t, torn.Load())
		assert.Equal(c.t, clients/2*rounds, a)
	})
}

// rwAwaitWriter returns when a writer waits for the readers to leave.
func rwAwaitWriter(m *fibersync.RWMutex) {
	for m.TryRLock() {
		m.RUnlock()
		pause()
	}
}

func TestRWMutexWriterThatGivesUpLetsReadersIn(t *testing.T) {
	eachCompany(t, func(c *company) {
		var m fibersync.RWMutex
		m.RLock()
		ctx, cancel := context.WithCancel(context.Background())
		c.start(func() { assert.ErrorIs(c.t, m.LockContext(ctx), context.Canceled) })
		rwAwaitWriter(&m)
		in := fibersync.NewLatch(4)
		for range 4 {
			c.start(func() {
				m.RLock()
				in.CountDown()
				m.RUnlock()
			})
		}
		pause()
		cancel()
		in.Wait() // for ever if the writer still kept them out
		c.wait()
		m.RUnlock()
		assert.NoError(c.t, m.LockContext(ctx), "a free lock is taken even if the context is over")
		inVain(c, m.RLockContext)
		m.Unlock()
		assert.NoError(c.t, m.RLockContext(ctx), "a free lock is taken even if the context is over")
		m.RUnlock()
	})
}

func TestRWMutexMisuse(t *testing.T) {
	eachCompany(t, func(c *company) {
		var m fibersync.RWMutex
		check.PanicsWith(c.t, fibersync.ErrUnlocked, m.Unlock)
		check.PanicsWith(c.t, fibersync.ErrUnlocked, m.RUnlock)
		m.RLock()
		check.PanicsWith(c.t, fibersync.ErrUnlocked, m.Unlock)
		m.RUnlock()
		m.Lock()
		check.PanicsWith(c.t, fibersync.ErrUnlocked, m.RUnlock)
		c.start(func() { mutexContract(c.t, fibersync.ErrNotHolder, m.MustHold) })
		c.wait()
		m.MustHold()
		if debug.On {
			check.PanicsWith(c.t, fibersync.ErrHolder, m.Lock)
			check.PanicsWith(c.t, fibersync.ErrHolder, m.RLock)
			assert.ErrorContains(c.t, recovered(m.RLock).(error), "fibersync: lock for reading: ")
			c.start(func() {
				check.PanicsWith(c.t, fibersync.ErrNotHolder, m.Unlock)
				assert.ErrorContains(c.t, recovered(m.Unlock).(error), "fibersync: unlock: ")
			})
			c.wait()
		}
		m.Unlock()
		assert.True(c.t, m.TryLock(), "misuse has not changed it")
		m.Unlock()
	})
}
