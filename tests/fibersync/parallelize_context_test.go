package fibersync_test

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"fiberlab/sched/fibersync"
	"fiberlab/tests/internal/crash"
	"fiberlab/tests/internal/leaks"
	"fiberlab/tests/internal/suite"
)

// waitForContext returns ctx's error once it is over.
func waitForContext(ctx context.Context) error {
	var never fibersync.Promise[int]
	_, err := never.Future().GetContext(ctx)
	return err
}

func TestParallelizeContext(t *testing.T) {
	eachCompany(t, func(c *company) {
		c.start(func() {
			begun := fibersync.NewLatch(2)
			wait := func(ctx context.Context) error {
				begun.CountDown()
				return waitForContext(ctx)
			}
			fail := func(context.Context) error {
				begun.Wait()
				return errFuture
			}
			assert.Equal(c.t, errFuture, fibersync.ParallelizeContext(context.Background(), wait, fail, wait))

			short, stop := context.WithTimeout(context.Background(), time.Millisecond)
			defer stop()
			begun = fibersync.NewLatch(3)
			err := fibersync.ParallelizeContext(short, wait, wait)
			assert.ErrorIs(c.t, err, context.DeadlineExceeded)
			err = fibersync.ParallelizeContext(short, func(context.Context) error {
				assert.Fail(c.t, "called after its context was over")
				return nil
			})
			assert.ErrorIs(c.t, err, context.DeadlineExceeded)
			assert.NoError(
				c.t, fibersync.ParallelizeContext(context.Background(), func(context.Context) error { return nil }),
			)
		})
	})
}

// Functions that wait for their context must stop waiting when one of them ends by a panic.
func TestParallelizeContextEndsWithAPanic(t *testing.T) {
	eachCompany(t, func(c *company) {
		for range 3 {
			c.start(func() {
				fail := func(context.Context) error {
					pause()
					crash.PanicWith(errFuture)
					return nil
				}
				value := recovered(
					func() { _ = fibersync.ParallelizeContext(context.Background(), waitForContext, fail, waitForContext) },
				)
				requirePanic(c.t, errFuture, value)
			})
		}
	})
}

// Nor by a Goexit, be it the caller's or a task's that the caller is told of.
func TestParallelizeContextEndsWithAGoexit(t *testing.T) {
	leaks.Check(t)
	for range 20 {
		returned, value := false, any(nil)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			defer func() { value = recover() }()
			_ = fibersync.ParallelizeContext(context.Background(), waitForContext, func(context.Context) error {
				runtime.Goexit()
				return nil
			})
			returned = true
		}()
		<-ended
		assert.False(t, returned, "ParallelizeContext has returned")
		if value != nil {
			assert.ErrorIs(t, value.(error), fibersync.ErrGoexit)
		}
	}
}

// If several functions fail at once, the cause of the functions' context is the error that ParallelizeContext returns.
func TestParallelizeContextHasOneCause(t *testing.T) {
	leaks.Check(t)
	for range suite.Scaled(100_000, 40_000) {
		var of context.Context
		var begun atomic.Int32
		fail := func(err error) func(ctx context.Context) error {
			return func(ctx context.Context) error {
				begun.Add(1)
				for tries := 1; begun.Load() < 2; tries++ { // both fail as nearly at once as two threads can
					if tries%1000 == 0 {
						runtime.Gosched()
					}
				}
				if err == errFuture {
					of = ctx
				}
				return err
			}
		}
		err := fibersync.ParallelizeContext(context.Background(), fail(errFuture), fail(errCause))
		if cause := context.Cause(of); cause != err {
			t.Fatalf("the cause is %v, and the error %v", cause, err)
		}
	}
}
