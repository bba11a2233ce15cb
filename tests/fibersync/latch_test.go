package fibersync_test

import (
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"

	"fiberlab/sched/fibersync"
	"fiberlab/tests/internal/check"
)

func TestLatchOpensAtZeroForAll(t *testing.T) {
	eachCompany(t, func(c *company) {
		const waiters, counts = 20, 10
		l := fibersync.NewLatch(counts)
		var counted, early atomic.Int64
		for range waiters {
			c.start(func() {
				l.Wait()
				if counted.Load() != counts {
					early.Add(1)
				}
			})
		}
		for range counts {
			c.start(func() {
				pause()
				counted.Add(1)
				l.CountDown()
			})
		}
		c.wait()
		assert.Zero(c.t, early.Load(), "waiters that went on too early")
		assert.True(c.t, l.Open())
		l.Wait()
	})
}

func TestLatchMisuse(t *testing.T) {
	check.PanicsWith(t, fibersync.ErrNegative, func() { fibersync.NewLatch(-1) })
	l := fibersync.NewLatch(1)
	l.CountDown()
	check.PanicsWith(t, fibersync.ErrOpen, l.CountDown)
	var zero fibersync.Latch
	zero.Wait()
}
