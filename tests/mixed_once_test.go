package tests

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"

	"fiberlab/internal/debug"
	"fiberlab/sched/fibersync"
)

// The others wait until the function has returned, and see what it did.
func TestMixedOnceCallsOneAndOthersWait(t *testing.T) {
	eachCompany(t, func(c *company) {
		for range scaled(20, 5) {
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
	begun, finished := newLatch(1), newLatch(1)
	c.start(func() {
		defer func() { _ = recover() }()
		once.Do(func() {
			begun.done()
			finished.wait()
			end()
		})
	})
	begun.wait()
	return finished.done
}

func TestMixedOnceWaitEndsWithItsContext(t *testing.T) {
	eachCompany(t, func(c *company) {
		var once fibersync.Once
		never := func() { assert.Fail(c.t, "a second function was called") }
		finish := onceBegun(c, &once, func() {})
		ctx, cancel := context.WithCancel(context.Background())
		gaveUp := newRoll(3)
		lineUp(c, 3, ctx, func(i int, ctx context.Context) {
			assert.ErrorIs(c.t, once.DoContext(ctx, never), context.Canceled)
			gaveUp.report(i)
		})
		cancel()
		gaveUp.reported(3)
		lineUp(c, 3, context.Background(), func(_ int, ctx context.Context) {
			assert.NoError(c.t, once.DoContext(ctx, never))
		})
		finish()
		c.wait()
		assert.NoError(c.t, once.DoContext(ctx, never), "nobody waits for what has been called")
	})
}

// A function that panics counts as called.
func TestMixedOnceCountsWhatPanics(t *testing.T) {
	eachCompany(t, func(c *company) {
		var once fibersync.Once
		finish := onceBegun(c, &once, func() { panic("on purpose") })
		lineUp(c, 3, context.Background(), func(_ int, ctx context.Context) {
			assert.NoError(c.t, once.DoContext(ctx, nil))
		})
		finish()
		c.wait()
		once.Do(nil)
	})
}

func TestMixedOnceCountsWhatEndsItsGoroutine(t *testing.T) {
	var once fibersync.Once
	ended := newLatch(1)
	go func() {
		defer ended.done()
		once.Do(runtime.Goexit)
	}()
	ended.wait()
	once.Do(nil)
}

// A release build would wait for ever.
func TestMixedOnceMisuse(t *testing.T) {
	var once fibersync.Once
	once.Do(func() {
		if debug.On {
			panicsWith(t, fibersync.ErrOnceInside, func() { once.Do(nil) })
		}
	})
}
