package sched_test

import (
	"testing"
	"time"

	"fiberlab/sched"
	"fiberlab/tests/internal/schedtest"
)

// quiet is how long nothing happens before each sample of BenchmarkWake.
const quiet = 2 * time.Millisecond

// BenchmarkWake measures the time from the call that queues a task, on a scheduler that has been idle
// for 2 ms, until the task begins. The rival starts a goroutine.
func BenchmarkWake(b *testing.B) {
	schedtest.BenchOn(b, []int{1, 2}, func(b *testing.B, s *sched.Scheduler) {
		measureWake(b, func(task func()) { schedtest.Enqueue(b, s, task) })
	})
	b.Run("goroutines", func(b *testing.B) {
		measureWake(b, func(task func()) { go task() })
	})
}

func measureWake(b *testing.B, start func(task func())) {
	samples := make([]time.Duration, max(b.N, fewestSamples))
	begun := make(chan time.Time)
	task := func() { begun <- time.Now() }
	for i := range samples {
		time.Sleep(quiet)
		called := time.Now()
		start(task)
		samples[i] = (<-begun).Sub(called)
	}
	reportQuantiles(b, samples)
}
