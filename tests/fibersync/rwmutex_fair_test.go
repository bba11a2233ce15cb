package fibersync_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"

	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

func TestRWMutexWriterGoesBeforeLaterReaders(t *testing.T) {
	eachCompany(t, func(c *company) {
		var m fibersync.RWMutex
		written := false
		m.RLock()
		c.start(func() {
			m.Lock()
			pause()
			written = true
			m.Unlock()
		})
		rwAwaitWriter(&m)
		for range 4 {
			c.start(func() {
				m.RLock()
				assert.True(c.t, written, "a reader came in before the writer")
				m.RUnlock()
			})
		}
		pause()
		m.RUnlock()
	})
}

// On one thread the order of arrival is known.
func TestRWMutexReadersGoBeforeTheNextWriter(t *testing.T) {
	suite.EachScheduler(t, suite.OneThread, func(t *testing.T, s *sched.Scheduler) {
		var m fibersync.RWMutex
		var order schedtest.Journal[string]
		over := schedtest.NewLatch(4)
		task := func(name string, lock, unlock func()) {
			schedtest.Schedule(t, s, func() {
				defer over.Done()
				lock()
				order.Add(name)
				sched.Yield()
				unlock()
			})
		}
		schedtest.Perform(t, s, func() {
			m.Lock()
			task("second writer", m.Lock, m.Unlock)
			task("reader", m.RLock, m.RUnlock)
			task("third writer", m.Lock, m.Unlock)
			task("reader", m.RLock, m.RUnlock)
			for range 10 {
				sched.Yield()
			}
			m.Unlock()
		})
		over.Wait()
		assert.Equal(t, []string{"reader", "reader"}, order.All()[:2])
	})
}

// Readers that overlap without end do not keep a writer out, nor do writers that never stop a
// reader. It ends.
func TestRWMutexStarvesNoClient(t *testing.T) {
	t.Run("writer", func(t *testing.T) {
		eachCompany(t, func(c *company) {
			var m fibersync.RWMutex
			rwBeside(c, m.RLocker(), &m)
		})
	})
	t.Run("reader", func(t *testing.T) {
		eachCompany(t, func(c *company) {
			var m fibersync.RWMutex
			rwBeside(c, &m, m.RLocker())
		})
	})
}

// rwBeside has three take one lock in turns until another one has had the other lock.
func rwBeside(c *company, greedy, victim sync.Locker) {
	var done atomic.Bool
	for range 3 {
		c.start(func() {
			for !done.Load() {
				greedy.Lock()
				pause()
				greedy.Unlock()
			}
		})
	}
	c.start(func() {
		defer done.Store(true)
		for range 5 {
			victim.Lock()
			pause()
			victim.Unlock()
		}
	})
}
