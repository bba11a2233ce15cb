package fibersync_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"fiberlab/sched/fibersync"
)

// locked calls f with l held.
func locked(l sync.Locker, f func()) {
	l.Lock()
	defer l.Unlock()
	f()
}

// condWait is one bare wait.
func condWait(cond *fibersync.Cond, ctx context.Context) (err error) {
	locked(cond.L, func() { err = cond.WaitContext(ctx) })
	return err
}

func TestCondSignalWakesInTheOrderOfComing(t *testing.T) {
	eachCompany(t, func(c *company) {
		const waiters = 10
		cond, woken := fibersync.NewCond(&sync.Mutex{}), newRoll(waiters)
		queueUp(c, waiters, context.Background(), func(i int, ctx context.Context) {
			assert.NoError(c.t, condWait(cond, ctx))
			woken.report(i)
		})
		for i := range waiters {
			assert.Equal(c.t, waiters-i, cond.Waiting())
			cond.Signal()
			assert.Equal(c.t, i, woken.reported(i+1))
		}
		assert.Zero(c.t, cond.Waiting())
	})
}

// All waiters that no signal has woken give up.
func TestCondSignalWakesExactlyOne(t *testing.T) {
	eachCompany(t, func(c *company) {
		const waiters, signals = 12, 5
		cond, woken := fibersync.NewCond(&sync.Mutex{}), newRoll(waiters)
		var gaveUp atomic.Int64
		ctx, cancel := context.WithCancel(context.Background())
		queueUp(c, waiters, ctx, func(i int, ctx context.Context) {
			if condWait(cond, ctx) == nil {
				woken.report(i)
			} else {
				gaveUp.Add(1)
			}
		})
		for range signals {
			cond.Signal()
		}
		woken.reported(signals)
		cancel()
		c.wait()
		assert.EqualValues(c.t, waiters-signals, gaveUp.Load())
		assert.Len(c.t, woken.numbers, signals)
	})
}

func TestCondBroadcastWakesAllWaiters(t *testing.T) {
	eachCompany(t, func(c *company) {
		const waiters = 10
		cond, woken := fibersync.NewCond(&sync.Mutex{}), newRoll(waiters)
		queueUp(c, waiters, context.Background(), func(i int, ctx context.Context) {
			assert.NoError(c.t, condWait(cond, ctx))
			woken.report(i)
		})
		cond.Broadcast()
		woken.reported(waiters)
	})
}

// A condition keeps no signal: a later waiter waits for the next one. A
// loop around the predicate does not wait at all.
func TestCondSignalBeforeWaitIsLost(t *testing.T) {
	eachCompany(t, func(c *company) {
		cond, ready := fibersync.NewCond(&sync.Mutex{}), false
		cond.Signal()
		cond.Broadcast()
		over, cancel := context.WithCancel(context.Background())
		cancel()
		c.start(func() {
			assert.ErrorIs(c.t, condWait(cond, over), context.Canceled)
			locked(cond.L, func() {
				assert.False(c.t, cond.AwaitFor(time.Millisecond, func() bool { return ready }))
				ready = true
				cond.Signal()
				cond.Await(func() bool { return ready })
			})
		})
	})
}

// With one value and a Broadcast, a consumer without a loop finds nothing.
func TestCondWaitWithoutLoopIsFooled(t *testing.T) {
	eachCompany(t, func(c *company) {
		const consumers = 6
		cond, values := fibersync.NewCond(&sync.Mutex{}), 0
		var fooled, served atomic.Int64
		queueUp(c, consumers, context.Background(), func(_ int, ctx context.Context) {
			locked(cond.L, func() {
				if assert.NoError(c.t, cond.WaitContext(ctx)); values == 0 {
					fooled.Add(1)
				} else {
					values--
				}
			})
		})
		locked(cond.L, func() { values++ })
		cond.Broadcast()
		c.wait()
		assert.EqualValues(c.t, consumers-1, fooled.Load())
		for range consumers {
			c.start(func() {
				locked(cond.L, func() {
					cond.Await(func() bool { return values > 0 })
					values--
					served.Add(1)
				})
			})
		}
		for range consumers {
			locked(cond.L, func() { values++ })
			cond.Broadcast()
		}
		c.wait()
		assert.EqualValues(c.t, consumers, served.Load())
		assert.Zero(c.t, values)
	})
}
