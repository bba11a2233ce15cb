package fibersync_test

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"

	"fiberlab/sched/fibersync"
	"fiberlab/tests/internal/suite"
)

func newEvents(n int) []*fibersync.Event {
	var events []*fibersync.Event
	for range n {
		events = append(events, fibersync.NewEvent(fibersync.AutoReset, false))
	}
	return events
}

func TestEventWaitAnyTakesOne(t *testing.T) {
	eachCompany(t, func(c *company) {
		events := newEvents(3)
		events[1].Signal()
		events[2].Signal()
		over, cancel := context.WithCancel(context.Background())
		cancel()
		c.start(func() {
			assert.Equal(c.t, 1, fibersync.WaitAny(events...))
			assert.Equal(c.t, 2, fibersync.WaitAny(events...))
			i, err := fibersync.WaitAnyContext(over, events...)
			assert.Equal(c.t, -1, i)
			assert.ErrorIs(c.t, err, context.Canceled)
		})
		c.wait()
		queueUp(c, 1, context.Background(), func(_ int, ctx context.Context) {
			i, err := fibersync.WaitAnyContext(ctx, events...)
			assert.Equal(c.t, 0, i)
			assert.NoError(c.t, err)
		})
		events[0].Signal()
		c.wait()
		assert.False(c.t, events[0].IsSignalled())
	})
}

// countedErr is a context that counts how often it has been asked whether it is over.
type countedErr struct {
	context.Context
	count *atomic.Int64
}

func (c countedErr) Err() error {
	c.count.Add(1)
	return c.Context.Err()
}

// A signal wakes one of the clients that wait for any of several events, and not all of them to see which is first. A
// client that is woken, rightly or not, asks its context.
func TestEventWaitAnyIsWokenOnce(t *testing.T) {
	eachCompany(t, func(c *company) {
		const waiters = 40
		shared := fibersync.NewEvent(fibersync.AutoReset, false)
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		asked := countedErr{ctx, new(atomic.Int64)}
		woken := newRoll(waiters)
		queueUp(c, waiters, asked, func(i int, ctx context.Context) {
			_, err := fibersync.WaitAnyContext(ctx, shared, fibersync.NewEvent(fibersync.AutoReset, false))
			assert.NoError(c.t, err)
			woken.report(i)
		})
		for i := range waiters {
			shared.Signal()
			assert.Equal(c.t, i, woken.reported(i+1), "in the order of their coming")
		}
		assert.LessOrEqual(c.t, asked.count.Load(), int64(3*waiters), "wake-ups of %d waiters", waiters)
	})
}

// One signal of an event that is set by hand goes to all, and to each of them once.
func TestEventWaitAnyByManualReset(t *testing.T) {
	eachCompany(t, func(c *company) {
		const waiters = 10
		shared, other := fibersync.NewEvent(
			fibersync.ManualReset, false,
		), fibersync.NewEvent(
			fibersync.AutoReset, false,
		)
		queueUp(c, waiters, context.Background(), func(i int, ctx context.Context) {
			if i%3 == 0 {
				assert.NoError(c.t, shared.WaitContext(ctx))
				return
			}
			which, err := fibersync.WaitAnyContext(ctx, other, shared, shared)
			assert.NoError(c.t, err)
			assert.Equal(c.t, 1, which)
		})
		shared.Signal()
		shared.Clear()
		c.wait()
		other.Signal()
		assert.True(c.t, other.Test(), "it has no waiter any more")
	})
}

// Each event is signalled again when its last signal has been taken. There are as many takers as signals, whether they
// wait for one event or for any, and give up or not.
func TestEventAnyStorm(t *testing.T) {
	eachCompany(t, func(c *company) {
		const count = 3
		each := suite.Scaled(100, 20)
		rng := suite.NewRand(c.t)
		events, taken := newEvents(count), newEvents(count)
		var sum atomic.Int64
		ctx, cancel := context.WithCancel(context.Background())
		take := func(i int) {
			taken[i].Signal()
			if sum.Add(1) == int64(count*each) {
				cancel()
			}
		}
		for i, e := range events {
			c.start(func() {
				for range each {
					e.Signal()
					taken[i].Wait()
				}
			})
		}
		startClients(c, rng, 6, func(me int, rng *rand.Rand) {
			for ctx.Err() == nil {
				if i := me % count; me < 2 && events[i].WaitContext(ctx) == nil {
					take(i)
				}
				short, stop := lapse(rng)
				if i, err := fibersync.WaitAnyContext(short, events...); err == nil {
					take(i)
				}
				stop()
				if i, err := fibersync.WaitAnyContext(ctx, events...); err == nil {
					take(i)
				}
			}
		})
		c.wait()
		assert.EqualValues(c.t, count*each, sum.Load())
	})
}
