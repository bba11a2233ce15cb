package sched_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/tests/internal/suite"
)

// A scheduler's fibers have the guard that it was asked for.
func TestGuardPagesOfAScheduler(t *testing.T) {
	over := suite.Over{Backends: suite.HandSwitched, Workers: []int{1}}
	over.Run(t, func(t *testing.T, cfg sched.Config) {
		cfg.GuardPages = 5
		s, err := sched.New(cfg)
		require.NoError(t, err)
		sizes := make(chan uintptr, 2)
		met := fibersync.NewBarrier(2)
		for range 2 {
			s.Enqueue(sched.Task{Func: func() {
				met.Wait()
				lo, hi := fiber.Current().Stack().Guard() // no task runs on the stack of a thread
				sizes <- hi - lo
			}})
		}
		require.NoError(t, s.Close())
		close(sizes)
		require.Len(t, sizes, 2)
		for size := range sizes {
			require.Equal(t, 5*uintptr(os.Getpagesize()), size)
		}
	})
}
