//go:build go1.25

package sched_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/sched"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

// A scheduler is not made in a bubble, whose end would find its workers blocked, but it may be used there.
func TestBubbleUsesSchedulerFromOutside(t *testing.T) {
	suite.EachConfig(t, []int{0, 2}, func(t *testing.T, cfg sched.Config) {
		synctest.Test(t, func(t *testing.T) {
			_, err := sched.New(cfg)
			assert.ErrorIs(t, err, sched.ErrBubble)
			assert.ErrorIs(t, sched.Run(cfg, func() { t.Error("ran") }), sched.ErrBubble)
		})
	})
	suite.EachScheduler(t, []int{1, 2}, func(t *testing.T, s *sched.Scheduler) {
		done := schedtest.NewLatch(3)
		synctest.Test(t, func(t *testing.T) {
			for range 3 {
				require.NoError(t, s.Go(done.Done))
			}
		})
		done.Wait()
	})
}
