package sched_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fiberlab/sched"
	"fiberlab/tests/internal/futexwake"
	"fiberlab/tests/internal/schedtest"
)

// quiet is how long nothing happens before each sample of BenchmarkWake.
const quiet = 2 * time.Millisecond

// BenchmarkWake measures the time from the call that queues a task, on a scheduler that has been idle for 2 ms, until
// the task begins. The rivals are a goroutine that is started, and, as the least that waking a thread can cost, one C
// thread that wakes another by futex(2): compare that with waker=thread. The wakers are:
//   - goroutine: it goes to sleep at once. To set its timer may cost it some microseconds before it leaves its thread.
//   - waiter: a goroutine that waits for its task, and sets the timer of its next pause only then.
//   - thread: a goroutine with a thread to itself, which waits for its task in the kernel, sleeps there as well and
//     keeps its P. That is what the C thread does. But a goroutine that has not called the Go scheduler for 10 ms is
//     interrupted by the runtime's monitor, which here would fall into every fifth sample and take some 60 us. So the
//     waker calls it once before each pause, outside of the sample.
//
// The first scheduler of a process that a goroutine wakes often takes some 40 us, under each policy, and a later one 3
// to 10 us. So compare policies in a process each, by a pattern that matches one.
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
	b.Run("waker=goroutine", func(b *testing.B) {
		begun := make(chan time.Time, 1) // has room: the task wakes no thread
		task := func() { begun <- time.Now() }
		time.Sleep(quiet)
		measureWakes(b, func() time.Duration {
			called := time.Now()
			start(task)
			time.Sleep(quiet)
			return (<-begun).Sub(called)
		})
	})
	b.Run("waker=waiter", func(b *testing.B) {
		begun := make(chan time.Time)
		task := func() { begun <- time.Now() }
		measureWakes(b, func() time.Duration {
			time.Sleep(quiet)
			called := time.Now()
			start(task)
			return (<-begun).Sub(called)
		})
	})
	b.Run("waker=thread", func(b *testing.B) {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		var begun time.Time
		var answer kernelFlag
		task := func() {
			begun = time.Now()
			answer.raise()
		}
		measureWakes(b, func() time.Duration {
			runtime.Gosched()
			sleepInKernel(quiet)
			called := time.Now()
			start(task)
			answer.wait()
			return begun.Sub(called)
		})
	})
}

// measureWakes reports the quantiles of samples.
func measureWakes(b *testing.B, sample func() time.Duration) {
	samples := make([]time.Duration, max(b.N, fewestSamples))
	for i := range samples {
		samples[i] = sample()
	}
	reportQuantiles(b, samples)
}
