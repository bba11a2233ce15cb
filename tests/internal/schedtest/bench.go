package schedtest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/sched"
	"fiberlab/tests/internal/suite"
)

// BenchOn runs a sub-benchmark BACKEND/workers=N/POLICY for every backend, policy and given number of workers,
// each on a new scheduler. With 0 workers it runs on a goroutine that is bound.
func BenchOn(b *testing.B, workers []int, run func(b *testing.B, s *sched.Scheduler)) {
	for _, cfg := range (suite.Over{Workers: workers}).All() {
		b.Run(suite.Name(cfg), func(b *testing.B) {
			s, err := sched.New(cfg)
			require.NoError(b, err)
			if cfg.Workers == 0 {
				require.NoError(b, s.Bind())
			}
			run(b, s)
			if cfg.Workers == 0 {
				require.NoError(b, sched.Unbind())
			}
			require.NoError(b, s.Close())
			require.NoError(b, fiber.Drain())
		})
	}
}

// Enqueue queues f on s.
func Enqueue(b *testing.B, s *sched.Scheduler, f func()) {
	if err := s.Enqueue(sched.Task{Func: f}); err != nil {
		b.Error(err)
	}
}
