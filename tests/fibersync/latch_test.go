package fibersync_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/sched/fibersync"
	"fiberlab/tests/internal/check"
	"fiberlab/tests/internal/suite"
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

func TestLatchWaitEndsWithItsContext(t *testing.T) {
	eachCompany(t, func(c *company) {
		l := fibersync.NewLatch(1)
		ctx := inVain(c, l.WaitContext)
		l.CountDown()
		require.NoError(c.t, l.WaitContext(ctx), "an open latch lets even those go on whose context is over")
	})
}

// Cancelling and counting down race: whoever is told that the latch opened must find it open,
// and nobody waits for ever.
func TestLatchStormOfCancelsAndOpens(t *testing.T) {
	eachCompany(t, func(c *company) {
		for range suite.Scaled(50, 10) {
			l := fibersync.NewLatch(1)
			ctx, cancel := context.WithCancel(context.Background())
			var wrong atomic.Int64
			for range 6 {
				c.start(func() {
					if err := l.WaitContext(ctx); err == nil && !l.Open() || err != nil && ctx.Err() == nil {
						wrong.Add(1)
					}
				})
			}
			c.start(cancel)
			c.start(l.CountDown)
			c.wait()
			assert.Zero(c.t, wrong.Load())
		}
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
