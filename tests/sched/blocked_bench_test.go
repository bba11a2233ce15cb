package sched_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/sched"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

// BenchmarkBlocked makes many tasks, all of which wait at once, and lets all go when the last one has
// come to wait. An op is one such task, from its making until it has ended. A round is always whole: b.N
// is rounded up to multiples of it. The pool is warm: a round before has made as many fibers, and the
// worker keeps them. The rival is as many goroutines, which wait with a sync.Cond.
//
// 100,000 fibers of the hand-switched backends take some 17 KB of memory each. Where guard pages need separate
// mappings, they also need more mappings than vm.max_map_count allows by default. Then the sub-benchmark is skipped.
func BenchmarkBlocked(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		for _, cfg := range (suite.Over{Workers: []int{1}}).All() {
			cfg.MaxIdle = 2 * n
			// Made once: the function below is called with one b.N after the other.
			var s *sched.Scheduler
			b.Run(fmt.Sprintf("%s/n=%d", schedtest.BenchName(cfg), n), func(b *testing.B) {
				if s == nil {
					if err := fiber.Prewarm(fiber.Config{Backend: cfg.Backend}, n); err != nil {
						b.Skip(err)
					}
					var err error
					s, err = sched.New(cfg)
					require.NoError(b, err)
					blockTasks(b, s, n)
				}
				inRounds(b, n, func() { blockTasks(b, s, n) })
			})
			if s != nil {
				require.NoError(b, s.Close())
			}
			require.NoError(b, fiber.Drain())
		}
		b.Run(fmt.Sprintf("%s/n=%d", schedtest.Goroutines, n), func(b *testing.B) {
			blockGoroutines(n)
			inRounds(b, n, func() { blockGoroutines(n) })
		})
	}
}

// inRounds times rounds of n operations until there were b.N, and reports the time of one operation and of a round.
func inRounds(b *testing.B, n int, round func()) {
	rounds := (b.N + n - 1) / n
	b.ResetTimer()
	for range rounds {
		round()
	}
	b.StopTimer()
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(rounds*n), "ns/op")
	b.ReportMetric(float64(b.Elapsed().Microseconds())/1e3/float64(rounds), "ms/round")
}

// blockTasks is a round on a scheduler.
func blockTasks(b *testing.B, s *sched.Scheduler, n int) {
	var mu sync.Mutex
	open := false
	isOpen := func() bool { return open }
	waiting := make([]*sched.Fiber, 0, n)
	blocked, ended := schedtest.NewCountdown(n), schedtest.NewCountdown(n)
	task := func() {
		f := sched.Current()
		mu.Lock()
		waiting = append(waiting, f)
		blocked.Done()
		f.Wait(&mu, isOpen)
		mu.Unlock()
		ended.Done()
	}
	for range n {
		schedtest.Enqueue(b, s, task)
	}
	blocked.Wait()
	mu.Lock() // which the last one to come has released by waiting
	open = true
	mu.Unlock()
	for _, f := range waiting {
		f.Notify()
	}
	ended.Wait()
}

// blockGoroutines is a round with goroutines.
func blockGoroutines(n int) {
	var mu sync.Mutex
	cond := sync.NewCond(&mu)
	open := false
	blocked, ended := schedtest.NewCountdown(n), schedtest.NewCountdown(n)
	task := func() {
		mu.Lock()
		blocked.Done()
		for !open {
			cond.Wait()
		}
		mu.Unlock()
		ended.Done()
	}
	for range n {
		go task()
	}
	blocked.Wait()
	mu.Lock()
	open = true
	mu.Unlock()
	cond.Broadcast()
	ended.Wait()
}
