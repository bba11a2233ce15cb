package fibersync_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/tests/internal/check"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

var errCause = errors.New("the cause")

// cancelled is a context that has been cancelled for errCause.
func cancelled() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errCause)
	return ctx
}

func TestSleepLastsAsLongAsItShould(t *testing.T) {
	eachCompany(t, func(c *company) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
		defer cancel()
		for _, ctx := range []context.Context{context.Background(), ctx} {
			c.start(func() {
				begun := time.Now()
				assert.NoError(c.t, fibersync.Sleep(ctx, 2*time.Millisecond))
				assert.GreaterOrEqual(c.t, time.Since(begun), 2*time.Millisecond)
			})
		}
		c.wait()
	})
}

// Sleep gives up with the cause of the context.
func TestSleepEndsWithItsContext(t *testing.T) {
	eachCompany(t, func(c *company) {
		ctx, cancel := context.WithCancelCause(context.Background())
		asleep := schedtest.NewLatch(4)
		for range 4 {
			c.start(func() {
				asleep.Done()
				assert.Equal(c.t, errCause, fibersync.Sleep(ctx, time.Hour))
			})
		}
		asleep.Wait()
		pause()
		cancel(errCause)
		c.wait()
		c.start(func() {
			assert.Equal(c.t, errCause, fibersync.Sleep(ctx, time.Hour))
			assert.Equal(c.t, errCause, fibersync.Sleep(ctx, -1))
			assert.NoError(c.t, fibersync.Sleep(context.Background(), -1))
		})
	})
}

// A deadline that comes before the end of the sleep is the context's.
func TestSleepPastTheDeadline(t *testing.T) {
	eachCompany(t, func(c *company) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		defer cancel()
		c.start(func() { assert.ErrorIs(c.t, fibersync.Sleep(ctx, time.Hour), context.DeadlineExceeded) })
		c.wait()
	})
}

// While a fiber sleeps, its worker runs others.
func TestSleepLeavesTheThreadToOthers(t *testing.T) {
	suite.EachScheduler(t, suite.OneThread, func(t *testing.T, s *sched.Scheduler) {
		ctx, cancel := context.WithCancel(context.Background())
		schedtest.Perform(t, s, func() {
			schedtest.ScheduleHere(t, s, cancel)
			assert.ErrorIs(t, fibersync.Sleep(ctx, time.Hour), context.Canceled)
		})
	})
}

func TestYieldLetsOthersGoFirst(t *testing.T) {
	suite.EachScheduler(t, suite.OneThread, func(t *testing.T, s *sched.Scheduler) {
		schedtest.Perform(t, s, func() {
			begun := false
			schedtest.ScheduleHere(t, s, func() { begun = true })
			assert.Equal(t, errCause, fibersync.Yield(cancelled()))
			assert.False(t, begun, "a Yield that returns an error has yielded")
			assert.NoError(t, fibersync.Yield(context.Background()))
			assert.True(t, begun, "the task that waits for the worker has not begun")
		})
	})
}

func TestYieldOfAGoroutine(t *testing.T) {
	assert.NoError(t, fibersync.Yield(context.Background()))
	assert.Equal(t, errCause, fibersync.Yield(cancelled()))
}

func TestSleepAndYieldMisuse(t *testing.T) {
	var none context.Context
	check.PanicsWith(t, fibersync.ErrNilContext, func() { _ = fibersync.Sleep(none, 0) })
	check.PanicsWith(t, fibersync.ErrNilContext, func() { _ = fibersync.Yield(none) })
}

// Each wait returns the cause of the end of its context.
func TestContextCauseIsTheError(t *testing.T) {
	eachCompany(t, func(c *company) {
		for name, prepare := range contextCases {
			wait, fulfil := prepare()
			ctx, cancel := context.WithCancelCause(context.Background())
			queueUp(c, 1, ctx, func(_ int, ctx context.Context) { assert.Equal(c.t, errCause, wait(ctx), name) })
			cancel(errCause)
			c.wait()
			if name == "Once" {
				fulfil()
			}
		}
		_, err := fibersync.CallContext(cancelled(), func() (int, error) { return 1, nil })
		assert.Equal(c.t, errCause, err, "CallContext")
		err = fibersync.ParallelizeContext(cancelled(), func(context.Context) error { return nil })
		assert.Equal(c.t, errCause, err, "ParallelizeContext")
	})
}
