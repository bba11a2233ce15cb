package schedtest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/sched"
	"fiberlab/tests/internal/suite"
)

// BenchName is the name of the sub-benchmark of that configuration. Its parts are key=value, so that benchstat can set
// the policies beside one another, as by -col /policy.
func BenchName(cfg sched.Config) string {
	if cfg.KeepThreads {
		return fmt.Sprintf("backend=%v/workers=%d/policy=%v/threads=kept", cfg.Backend, cfg.Workers, cfg.Policy)
	}
	return fmt.Sprintf("backend=%v/workers=%d/policy=%v", cfg.Backend, cfg.Workers, cfg.Policy)
}

// Goroutines is the name of the sub-benchmark in which goroutines do the work of fibers. benchstat shows it as one more
// policy.
const Goroutines = "policy=goroutines"

// BenchOn runs a sub-benchmark, called by BenchName, for every backend, policy and given number of workers,
// each on a new scheduler. With 0 workers it runs on a goroutine that is bound.
func BenchOn(
	b *testing.B, workers []int, run func(b *testing.B, s *sched.Scheduler), configure ...func(*sched.Config),
) {
	for _, cfg := range (suite.Over{Workers: workers}).All() {
		for _, f := range configure {
			f(&cfg)
		}
		benchOne(b, cfg, run)
	}
}

// BenchThreads is BenchOn, and runs one more sub-benchmark, threads=kept, wherever workers give their threads up while
// they are idle: there they keep them.
func BenchThreads(b *testing.B, workers []int, run func(b *testing.B, s *sched.Scheduler)) {
	for _, cfg := range (suite.Over{Workers: workers}).All() {
		benchOne(b, cfg, run)
		if suite.GivesThreadsUp(cfg) {
			cfg.KeepThreads = true
			benchOne(b, cfg, run)
		}
	}
}

func benchOne(b *testing.B, cfg sched.Config, run func(b *testing.B, s *sched.Scheduler)) {
	b.Run(BenchName(cfg), func(b *testing.B) {
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

// Enqueue queues f on s.
func Enqueue(b *testing.B, s *sched.Scheduler, f func()) {
	if err := s.Enqueue(sched.Task{Func: f}); err != nil {
		b.Error(err)
	}
}
