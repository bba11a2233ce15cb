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

// BenchmarkIdleCPU measures how much of one processor's time the whole program takes while a scheduler
// has nothing to do (idle), and while it is given an empty task every 500 us (task=500us). The rival starts
// a goroutine every 500 us.
func BenchmarkIdleCPU(b *testing.B) {
	schedtest.BenchOn(b, []int{2}, func(b *testing.B, s *sched.Scheduler) {
		b.Run("idle", func(b *testing.B) { measureCPU(b, func() { time.Sleep(window) }) })
		b.Run("task=500us", func(b *testing.B) {
			measureCPU(b, func() { startSparsely(func(task func()) { schedtest.Enqueue(b, s, task) }) })
		})
	})
	b.Run("goroutines/idle", func(b *testing.B) { measureCPU(b, func() { time.Sleep(window) }) })
	b.Run("goroutines/task=500us", func(b *testing.B) {
		measureCPU(b, func() { startSparsely(func(task func()) { go task() }) })
	})
}

// startSparsely starts empty tasks for the time of a window.
func startSparsely(start func(task func())) {
	task := func() {}
	began := time.Now()
	for next := sparse; next < window; next += sparse {
		time.Sleep(next - time.Since(began))
		start(task)
	}
}

// measureCPU runs b.N windows, and reports the processor time that they took in the place of ns/op.
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
