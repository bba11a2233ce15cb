package fibersync_test

import (
	"context"
	"math"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"

	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/tests/internal/check"
	"fiberlab/tests/internal/suite"
)

func TestWaitGroupOpensAtZeroForAll(t *testing.T) {
	eachCompany(t, func(c *company) {
		const waiters, counts = 20, 10
		var g fibersync.WaitGroup
		var counted, early atomic.Int64
		g.Add(counts)
		for range waiters {
			c.start(func() {
				if g.Wait(); counted.Load() != counts {
					early.Add(1)
				}
			})
		}
		for range counts {
			c.start(func() {
				pause()
				counted.Add(1)
				g.Done()
			})
		}
		c.wait()
		assert.Zero(c.t, early.Load(), "waiters that went on too early")
		g.Wait()
	})
}

// Go's functions run where the caller does, and may call Go themselves.
func TestWaitGroupGo(t *testing.T) {
	eachCompany(t, func(c *company) {
		for range 4 {
			c.start(func() {
				var g fibersync.WaitGroup
				var ran, elsewhere atomic.Int64
				here := sched.Get()
				for range 10 {
					g.Go(func() {
						pause()
						g.Go(func() { ran.Add(1) })
						if ran.Add(1); sched.Get() != here {
							elsewhere.Add(1)
						}
					})
				}
				g.Wait()
				assert.EqualValues(c.t, 20, ran.Load())
				assert.Zero(c.t, elsewhere.Load())
			})
		}
	})
}

func TestWaitGroupGoCountsWhatEndsItsGoroutine(t *testing.T) {
	var g fibersync.WaitGroup
	g.Go(runtime.Goexit)
	g.Wait()
}

// Waiters of one round have no part in the next, which may begin before they
// have gone on.
func TestWaitGroupCanBeUsedAgainAtOnce(t *testing.T) {
	eachCompany(t, func(c *company) {
		var g fibersync.WaitGroup
		for range suite.Scaled(20, 5) {
			const waiters = 4
			woken := newRoll(waiters)
			g.Add(1)
			queueUp(c, waiters, context.Background(), func(i int, ctx context.Context) {
				assert.NoError(c.t, g.WaitContext(ctx))
				woken.report(i)
			})
			g.Done()
			g.Add(1)
			woken.reported(waiters)
			g.Done()
		}
	})
}

// Misuse changes nothing: the count is what it was.
func TestWaitGroupMisuse(t *testing.T) {
	var g fibersync.WaitGroup
	check.PanicsWith(t, fibersync.ErrNegative, g.Done)
	check.PanicsWith(t, fibersync.ErrOverflow, func() { g.Add(math.MaxInt) })
	g.Wait()
	g.Add(2)
	check.PanicsWith(t, fibersync.ErrNegative, func() { g.Add(-3) })
	check.PanicsWith(t, fibersync.ErrOverflow, func() { g.Add(math.MaxInt) })
	check.PanicsWith(t, fibersync.ErrNegative, func() { g.Add(math.MinInt) })
	g.Add(-2)
	g.Add(math.MaxInt / 2)
	check.PanicsWith(t, fibersync.ErrOverflow, func() { g.Add(1) })
	check.PanicsWith(t, fibersync.ErrOverflow, func() { g.Add(math.MaxInt) })
	g.Add(-math.MaxInt / 2)
	g.Wait()
}

func TestDoneOnceTooOften(t *testing.T) {
	defer func() {
		err, _ := recover().(error)
		assert.ErrorIs(t, err, fibersync.ErrDoneTooOften)
		assert.EqualError(
			t, err,
			"fibersync: add -1 to a wait group of 0: the count would be less than 0: call Add before the work "+
				"begins, and Done once for each",
		)
	}()
	new(fibersync.WaitGroup).Done()
}
