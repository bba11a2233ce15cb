package sched_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fiberlab/sched"
	"fiberlab/tests/internal/futexwake"
	"fiberlab/tests/internal/schedtest"
)

// quiet is how long nothing happens before each sample of BenchmarkWake.
const quiet = 2 * time.Millisecond

// BenchmarkWake measures the time from the call that queues a task, on a scheduler that has been idle
// for 2 ms, until the task begins, for both kinds of waker, and for a goroutine that waits for its task (waiter) and sets the timer of
// its next pause only then: to set a timer may cost it some microseconds before it leaves its thread. The rivals are a goroutine that is started, and, as the least
// that waking a thread can cost, one C thread that wakes another by futex(2): compare that with waker=thread.
func BenchmarkWake(b *testing.B) {
	schedtest.BenchThreads(b, []int{1, 2}, func(b *testing.B, s *sched.Scheduler) {
		measureWake(b, func(task func()) { schedtest.Enqueue(b, s, task) })
	})
	b.Run(schedtest.Goroutines, func(b *testing.B) {
		measureWake(b, func(task func()) { go task() })
	})
	b.Run("futex", func(b *testing.B) {
		samples, err := futexwake.Measure(quiet, max(b.N, fewestSamples))
		require.NoError(b, err)
		reportQuantiles(b, samples)
	})
}

func measureWake(b *testing.B, start func(task func())) {
	eachWaker(b, func(b *testing.B, pause func(time.Duration)) {
		samples := make([]time.Duration, max(b.N, fewestSamples))
		begun := make(chan time.Time, 1) // has room: the task wakes no thread
		task := func() { begun <- time.Now() }
		pause(quiet)
		for i := range samples {
			called := time.Now()
			start(task)
			pause(quiet)
			samples[i] = (<-begun).Sub(called)
		}
		reportQuantiles(b, samples)
	})
	b.Run("waker=waiter", func(b *testing.B) {
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
	})
}
