package sched_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"fiberlab/sched"
	"fiberlab/tests/internal/schedtest"
)

const (
	sparse = 500 * time.Microsecond // from one task to the next
	window = 300 * time.Millisecond // what an op of BenchmarkIdleCPU takes
)

// BenchmarkIdleCPU measures the share of one processor's time that the program takes. In idle, the scheduler has
// nothing to do. In the others, a waker of one of two kinds queues an empty task every 500 us. The rivals are a waker
// that starts a goroutine every 500 us, and a waker that only wakes (nothing). The tasks cost what a row has more than
// that one.
func BenchmarkIdleCPU(b *testing.B) {
	schedtest.BenchThreads(b, []int{2}, func(b *testing.B, s *sched.Scheduler) {
		b.Run("idle", measureIdle)
		measureSparse(b, func(task func()) { schedtest.Enqueue(b, s, task) })
	})
	b.Run(schedtest.Goroutines, func(b *testing.B) {
		b.Run("idle", measureIdle)
		measureSparse(b, func(task func()) { go task() })
	})
	b.Run("nothing", func(b *testing.B) { measureSparse(b, func(func()) {}) })
}

func measureIdle(b *testing.B) {
	measureCPU(b, func() { time.Sleep(window) })
}

// measureSparse starts empty tasks for the time of each window.
func measureSparse(b *testing.B, start func(task func())) {
	task := func() {}
	eachWaker(b, func(b *testing.B, pause func(time.Duration)) {
		measureCPU(b, func() {
			began := time.Now()
			for next := sparse; next < window; next += sparse {
				pause(next - time.Since(began))
				start(task)
			}
		})
	})
}

// measureCPU runs b.N windows, and reports the processor time that they took instead of ns/op.
func measureCPU(b *testing.B, run func()) {
	before, began := processorTime(b), time.Now()
	for range b.N {
		run()
	}
	used := processorTime(b) - before
	b.ReportMetric(100*float64(used)/float64(time.Since(began)), "cpu-%")
	b.ReportMetric(0, "ns/op")
}

// processorTime is what all threads of this program have used, in user and kernel mode.
func processorTime(b *testing.B) time.Duration {
	var usage unix.Rusage
	require.NoError(b, unix.Getrusage(unix.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
