package fibersync_test

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"

	"fiberlab/internal/debug"
	"fiberlab/sched/fibersync"
	"fiberlab/tests/internal/check"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

// The others wait until the function has returned, and see what it did.
func TestOnceCallsOneAndOthersWait(t *testing.T) {
	eachCompany(t, func(c *company) {
		for range suite.Scaled(20, 5) {
			var once fibersync.Once
			var calls atomic.Int64
			result := 0
			for range 10 {
				c.start(func() {
					once.Do(func() {
						calls.Add(1)
						pause()
						result = 7
					})
					assert.Equal(c.t, 7, result)
				})
			}
			c.wait()
			assert.EqualValues(c.t, 1, calls.Load())
		}
	})
}

// onceBegun starts one of the company whose Do of once calls a function that ends with
// end, and waits until it has begun. The function it returns lets it come to its end.
func onceBegun(c *company, once *fibersync.Once, end func()) (finish func()) {
	begun, finished := schedtest.NewLatch(1), schedtest.NewLatch(1)
	c.start(func() {
		defer func() { _ = recover() }()
		once.Do(func() {
			begun.Done()
			finished.Wait()
			end()
		})
	})
	begun.Wait()
	return finished.Done
}

func TestOnceWaitEndsWithItsContext(t *testing.T) {
	eachCompany(t, func(c *company) {
		var once fibersync.Once
		never := func() { assert.Fail(c.t, "a second function was called") }
		finish := onceBegun(c, &once, func() {})
		ctx, cancel := context.WithCancel(context.Background())
		gaveUp := newRoll(3)
		queueUp(c, 3, ctx, func(i int, ctx context.Context) {
			assert.ErrorIs(c.t, once.DoContext(ctx, never), context.Canceled)
			gaveUp.report(i)
		})
		cancel()
		gaveUp.reported(3)
		queueUp(c, 3, context.Background(), func(_ int, ctx context.Context) {
			assert.NoError(c.t, once.DoContext(ctx, never))
		})
		finish()
		c.wait()
		assert.NoError(c.t, once.DoContext(ctx, never), "a call that has returned is not waited for")
	})
}

// A function that panics counts as called.
func TestOnceCountsWhatPanics(t *testing.T) {
	eachCompany(t, func(c *company) {
		var once fibersync.Once
		finish := onceBegun(c, &once, func() { panic("on purpose") })
		queueUp(c, 3, context.Background(), func(_ int, ctx context.Context) {
			assert.NoError(c.t, once.DoContext(ctx, nil))
		})
		finish()
		c.wait()
		once.Do(nil)
	})
}

func TestOnceCountsWhatEndsItsGoroutine(t *testing.T) {
	var once fibersync.Once
	ended := schedtest.NewLatch(1)
	go func() {
		defer ended.Done()
		once.Do(runtime.Goexit)
	}()
	ended.Wait()
	once.Do(nil)
}

// In a release build this call never returns.
func TestOnceMisuse(t *testing.T) {
	var once fibersync.Once
	once.Do(func() {
		if debug.On {
			check.PanicsWith(t, fibersync.ErrOnceInside, func() { once.Do(nil) })
		}
	})
}
