package fibersync_test

import (
	"context"
	"math"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/tests/internal/check"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

func TestSemaphoreGivesNoMoreThanItHas(t *testing.T) {
	eachCompany(t, func(c *company) {
		const units, clients = 5, 8
		rounds := suite.Scaled(30, 10)
		s := fibersync.NewSemaphore(units)
		var in, wrong atomic.Int64
		for i := range clients {
			c.start(func() {
				for round := range rounds {
					n := int64(i+round) % (units + 1)
					s.Acquire(n)
					if in.Add(n) > units {
						wrong.Add(1)
					}
					pause()
					in.Add(-n)
					s.Release(n)
				}
			})
		}
		c.wait()
		assert.Zero(c.t, wrong.Load())
		assert.True(c.t, s.TryAcquire(units), "all that there is")
		assert.False(c.t, s.TryAcquire(1), "there is no more")
		assert.True(c.t, s.TryAcquire(0))
	})
}

// semaphoreAwaitWaiter returns when a client waits for more than the one unit that is free.
func semaphoreAwaitWaiter(s *fibersync.Semaphore) {
	for s.TryAcquire(1) {
		s.Release(1)
		pause()
	}
}

func TestSemaphoreSmallRequestDoesNotOvertake(t *testing.T) {
	eachCompany(t, func(c *company) {
		s := fibersync.NewSemaphore(3)
		s.Acquire(2)
		var big atomic.Bool
		c.start(func() {
			s.Acquire(3)
			big.Store(true)
			s.Release(3)
		})
		semaphoreAwaitWaiter(s)
		for range 4 {
			c.start(func() {
				s.Acquire(1)
				assert.True(c.t, big.Load(), "one unit was given to a later client")
				s.Release(1)
			})
		}
		pause()
		assert.False(c.t, s.TryAcquire(0), "a client waits")
		s.Release(2)
	})
}

// On one thread the order of arrival is known.
func TestSemaphoreServesInOrder(t *testing.T) {
	suite.EachScheduler(t, suite.OneThread, func(t *testing.T, s *sched.Scheduler) {
		const units, clients = 7, 20
		rng := suite.NewRand(t)
		sem := fibersync.NewSemaphore(units)
		var came, got schedtest.Journal[int]
		over := schedtest.NewLatch(clients)
		schedtest.Perform(t, s, func() {
			sem.Acquire(units)
			for i := range clients {
				n := 1 + rng.Int64N(units)
				schedtest.Schedule(t, s, func() {
					defer over.Done()
					came.Add(i)
					sem.Acquire(n)
					got.Add(i)
					sched.Yield()
					sem.Release(n)
				})
			}
			for len(came.All()) < clients {
				sched.Yield()
			}
			for range units {
				sem.Release(1)
				sched.Yield()
			}
		})
		over.Wait()
		assert.Equal(t, came.All(), got.All())
	})
}

func TestSemaphoreWaiterThatGivesUpLetsOthersPass(t *testing.T) {
	eachCompany(t, func(c *company) {
		s := fibersync.NewSemaphore(3)
		s.Acquire(2)
		ctx, cancel := context.WithCancel(context.Background())
		c.start(func() { assert.ErrorIs(c.t, s.AcquireContext(ctx, 3), context.Canceled) })
		semaphoreAwaitWaiter(s)
		c.start(func() {
			short, stop := context.WithTimeout(context.Background(), time.Millisecond)
			defer stop()
			assert.ErrorIs(c.t, s.AcquireContext(short, 2), context.DeadlineExceeded)
		})
		got := fibersync.NewLatch(1)
		c.start(func() {
			s.Acquire(1)
			got.CountDown()
		})
		pause()
		cancel()
		got.Wait() // for ever if it still stood behind the client that gave up
		c.wait()
		s.Release(3)
		assert.NoError(c.t, s.AcquireContext(ctx, 3), "free units are taken even if the context is over")
	})
}

func TestSemaphoreMisuse(t *testing.T) {
	check.PanicsWith(t, fibersync.ErrNegative, func() { fibersync.NewSemaphore(-1) })
	s := fibersync.NewSemaphore(2)
	check.PanicsWith(t, fibersync.ErrNegative, func() { s.Acquire(-1) })
	check.PanicsWith(t, fibersync.ErrNegative, func() { _ = s.AcquireContext(context.Background(), -1) })
	check.PanicsWith(t, fibersync.ErrNegative, func() { s.TryAcquire(math.MinInt64) })
	check.PanicsWith(t, fibersync.ErrNegative, func() { s.Release(-1) })
	check.PanicsWith(t, fibersync.ErrTooMany, func() { s.Acquire(3) })
	assert.ErrorIs(t, s.AcquireContext(context.Background(), math.MaxInt64), fibersync.ErrTooMany)
	assert.False(t, s.TryAcquire(3))
	check.PanicsWith(t, fibersync.ErrReleased, func() { s.Release(1) })
	s.Acquire(1)
	check.PanicsWith(t, fibersync.ErrReleased, func() { s.Release(2) })
	check.PanicsWith(t, fibersync.ErrReleased, func() { s.Release(math.MaxInt64) })
	s.Release(1)
	assert.True(t, s.TryAcquire(2), "misuse has not changed it")

	var zero fibersync.Semaphore
	assert.False(t, zero.TryAcquire(1))
	assert.True(t, fibersync.NewSemaphore(math.MaxInt64).TryAcquire(math.MaxInt64))
}
