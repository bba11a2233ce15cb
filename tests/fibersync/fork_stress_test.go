package fibersync_test

import (
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"

	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

// randomFork makes forks and runs of graphs in one another. Of some forks no function returns before all have begun: if
// a call were left open without a helper to come, such a fork would never end. It returns how many functions have been
// called.
func randomFork(rng *rand.Rand, depth int) int64 {
	n := 2 + rng.IntN(3)
	waits, wait := rng.IntN(2) == 0, fibersync.NewLatch(n)
	var called atomic.Int64
	fs := make([]func(), n)
	for i := range fs {
		own := rand.New(rand.NewPCG(rng.Uint64(), rng.Uint64()))
		fs[i] = func() {
			called.Add(1)
			if depth > 0 && own.IntN(2) == 0 {
				called.Add(randomFork(own, depth-1))
			}
			if own.IntN(8) == 0 {
				pause()
			}
			if waits {
				wait.CountDown()
				wait.Wait()
			}
		}
	}
	if rng.IntN(3) > 0 {
		fibersync.Parallelize(fs...)
		return called.Load()
	}
	var b fibersync.DAGBuilder[struct{}]
	for _, f := range fs {
		b.Node(func(struct{}) { f() })
	}
	d, err := b.Build()
	if err != nil {
		panic(err)
	}
	d.Run(struct{}{})
	return called.Load()
}

// No open call is left without a helper to come, whatever calls are claimed at the same time, and with the collector
// busy.
func TestStressForks(t *testing.T) {
	suite.EachScheduler(t, []int{1, 2, 4}, func(t *testing.T, s *sched.Scheduler) {
		suite.KeepCollecting(t)
		rng := suite.NewRand(t)
		var progress atomic.Uint64
		state := func() string { return "a fork does not end" }
		rounds, visitors := suite.Scaled(60, 6), 4
		over := schedtest.NewLatch(visitors)
		for range visitors {
			own := rand.New(rand.NewPCG(rng.Uint64(), rng.Uint64()))
			schedtest.Schedule(t, s, func() {
				defer over.Done()
				for range rounds {
					assert.Positive(t, randomFork(own, 3))
					progress.Add(1)
				}
			})
		}
		schedtest.Watch(t, schedtest.Watched{Scheduler: s, Progress: &progress, State: state}, over.Wait)
		assert.EqualValues(t, rounds*visitors, progress.Load())
	})
}
