package fibersync_test

import (
	"context"
	"math"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"fiberlab/sched/fibersync"
	"fiberlab/tests/internal/check"
	"fiberlab/tests/internal/suite"
)

func TestEventAutoResetServesOneASignal(t *testing.T) {
	eachCompany(t, func(c *company) {
		const waiters, signals = 12, 5
		e, woken := fibersync.NewEvent(fibersync.AutoReset, false), newRoll(waiters)
		var gaveUp atomic.Int64
		ctx, cancel := context.WithCancel(context.Background())
		queueUp(c, waiters, ctx, func(i int, ctx context.Context) {
			if e.WaitContext(ctx) == nil {
				woken.report(i)
			} else {
				gaveUp.Add(1)
			}
		})
		for i := range signals {
			e.Signal()
			assert.Equal(c.t, i, woken.reported(i+1), "the longest waiter")
			assert.False(c.t, e.IsSignalled(), "a signal that a waiter has taken")
		}
		cancel()
		c.wait()
		assert.EqualValues(c.t, waiters-signals, gaveUp.Load())
		assert.False(c.t, e.Test())
	})
}

func TestEventAutoResetKeepsOneSignal(t *testing.T) {
	eachCompany(t, func(c *company) {
		var e fibersync.Event
		e.Signal()
		e.Signal()
		c.start(func() {
			e.Wait()
			assert.False(c.t, e.WaitFor(time.Millisecond))
			assert.False(c.t, e.WaitUntil(time.Now()))
			assert.False(c.t, e.WaitUntil(time.Time{}), "that was long ago")
			e.Signal()
			e.Clear()
			assert.False(c.t, e.Test())
			e.Signal()
			assert.True(c.t, e.WaitFor(-time.Second), "a signal that is there is taken at any time")
		})
	})
}

func TestEventManualResetStaysForAll(t *testing.T) {
	eachCompany(t, func(c *company) {
		const waiters = 10
		e, woken := fibersync.NewEvent(fibersync.ManualReset, false), newRoll(waiters)
		queueUp(c, waiters, context.Background(), func(i int, ctx context.Context) {
			assert.NoError(c.t, e.WaitContext(ctx))
			woken.report(i)
		})
		e.Signal()
		e.Clear() // comes too late for the waiters
		woken.reported(waiters)
		assert.False(c.t, e.IsSignalled())
		e.Signal()
		for range waiters {
			c.start(func() {
				e.Wait()
				assert.True(c.t, e.Test())
				assert.True(c.t, e.IsSignalled())
			})
		}
	})
}

func TestEventMayBeSignalledAtFirst(t *testing.T) {
	for _, mode := range []fibersync.EventMode{fibersync.AutoReset, fibersync.ManualReset} {
		e := fibersync.NewEvent(mode, true)
		assert.True(t, e.IsSignalled())
		e.Wait()
		assert.Equal(t, mode == fibersync.ManualReset, e.IsSignalled())
	}
	check.PanicsWith(t, fibersync.ErrMode, func() { fibersync.NewEvent(fibersync.ManualReset+1, false) })
}

// A time too far away for the clock means no deadline, and not one that has passed.
func TestEventWaitsForAnyTime(t *testing.T) {
	eachCompany(t, func(c *company) {
		var e fibersync.Event
		for _, d := range []time.Duration{math.MaxInt64, math.MaxInt64 - 1, math.MaxInt64 / 2} {
			c.start(func() { assert.True(c.t, e.WaitFor(d), d) })
			c.start(func() {
				for range 10 {
					pause()
				}
				e.Signal()
			})
			c.wait()
		}
		assert.False(c.t, e.WaitFor(math.MinInt64))
	})
}

// Tokens go round by events, one for each way; a client that gives up must not take one along.
func TestEventStormOfCancelsAndSignals(t *testing.T) {
	eachCompany(t, func(c *company) {
		rounds := suite.Scaled(100, 20)
		var there, back fibersync.Event
		c.start(func() {
			for range rounds {
				there.Signal()
				back.Wait()
			}
		})
		c.start(func() {
			for range rounds {
				there.Wait()
				back.Signal()
			}
		})
		ctx, cancel := context.WithCancel(context.Background())
		for range 4 {
			c.start(func() {
				for there.WaitContext(ctx) == nil {
					there.Signal()
					pause()
				}
			})
		}
		c.start(func() {
			for range rounds {
				short, stop := context.WithTimeout(ctx, 10*time.Microsecond)
				if there.WaitContext(short) == nil {
					there.Signal()
				}
				stop()
			}
			cancel()
		})
		c.wait()
		assert.False(c.t, there.IsSignalled() || back.IsSignalled())
	})
}
