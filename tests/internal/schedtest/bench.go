package schedtest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/sched"
)

// BenchOn runs a sub-benchmark BACKEND/workers=N for every backend and each of the given numbers of
// workers, each on a scheduler of its own. With 0 workers it runs on a goroutine that is bound.
func BenchOn(b *testing.B, workers []int, run func(b *testing.B, s *sched.Scheduler)) {
	for _, backend := range fiber.Backends() {
		for _, n := range workers {
			b.Run(fmt.Sprintf("%v/workers=%d", backend, n), func(b *testing.B) {
				s, err := sched.New(sched.Config{Workers: n, Backend: backend})
				require.NoError(b, err)
				if n == 0 {
					require.NoError(b, s.Bind())
				}
				run(b, s)
				if n == 0 {
					require.NoError(b, sched.Unbind())
				}
				require.NoError(b, s.Close())
				require.NoError(b, fiber.Drain())
			})
		}
	}
}

// Enqueue queues f on s.
func Enqueue(b *testing.B, s *sched.Scheduler, f func()) {
	if err := s.Enqueue(sched.Task{Func: f}); err != nil {
		b.Error(err)
	}
}
