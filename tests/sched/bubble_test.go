//go:build go1.25

package sched_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/sched"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

// A bubble can hold no worker: it would count as blocked for good, or stop the bubble's clock.
func TestBubbleHoldsNoWorker(t *testing.T) {
	suite.EachConfig(t, []int{0, 2}, func(t *testing.T, cfg sched.Config) {
		suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			synctest.Test(t, func(t *testing.T) {
				_, err := sched.New(cfg)
				assert.ErrorIs(t, err, sched.ErrBubble)
				assert.ErrorIs(t, sched.Run(cfg, func() { t.Error("ran") }), sched.ErrBubble)
				assert.ErrorIs(t, s.Bind(), sched.ErrBubble)
				time.Sleep(time.Hour) // the bubble's clock goes on
			})
		})
	})
}

// A bubble may give tasks to a scheduler that was made outside, and wait for them on a channel that was made there too.
func TestBubbleUsesSchedulerFromOutside(t *testing.T) {
	suite.EachScheduler(t, []int{1, 2}, func(t *testing.T, s *sched.Scheduler) {
		const tasks = 3
		done := schedtest.NewLatch(tasks)
		synctest.Test(t, func(t *testing.T) {
			for range tasks {
				require.NoError(t, s.Go(done.Done))
			}
			<-done.Opened()
		})
	})
}
