package sched_test

import (
	"sync/atomic"
	"testing"
	"time"

	"fiberlab/sched"
	"fiberlab/tests/internal/schedtest"
)

const (
	timed     = time.Millisecond
	loadTasks = 200_000
	loadTask  = time.Microsecond
)

// BenchmarkTimer measures how much longer than 1 ms a timed wait of 1 ms takes. One task waits again and again. In
// idle, it has the scheduler for itself. In loaded, 200,000 tasks of 1 us are queued and run, and are queued anew until
// there are enough samples. The rival calls time.Sleep, beside as many goroutines.
//
// The goroutine that queues the tasks is one more busy thread. queued is loaded without the waits that began while it
// queued; the rival has nearly none of these.
func BenchmarkTimer(b *testing.B) {
	wait := func() { sched.Current().WaitFor(nil, timed, nil) }
	schedtest.BenchOn(b, []int{1, 2}, func(b *testing.B, s *sched.Scheduler) {
		start := func(task func()) { schedtest.Enqueue(b, s, task) }
		measureTimers(b, start, wait)
		b.Run("queued", func(b *testing.B) { measureTimer(b, start, wait, loadTasks, true) })
	})
	b.Run(schedtest.Goroutines, func(b *testing.B) {
		measureTimers(b, func(task func()) { go task() }, func() { time.Sleep(timed) })
	})
}

func measureTimers(b *testing.B, start func(task func()), wait func()) {
	b.Run("idle", func(b *testing.B) { measureTimer(b, start, wait, 0, false) })
	b.Run("loaded", func(b *testing.B) { measureTimer(b, start, wait, loadTasks, false) })
}

// measureTimer starts one task that takes the samples, and the load beside it, in rounds. A round ends
// with the load, or after fewestSamples if there is none. With late, no sample is taken before all the
// load is queued.
func measureTimer(b *testing.B, start func(task func()), wait func(), load int, late bool) {
	var samples []time.Duration
	for len(samples) < max(b.N, fewestSamples) {
		var queued atomic.Bool
		var left atomic.Int64
		left.Store(int64(load))
		ended := schedtest.NewCountdown(load + 1)
		start(func() {
			for i := 0; left.Load() > 0 || load == 0 && i < fewestSamples; i++ {
				counts := !late || queued.Load()
				began := time.Now()
				wait()
				if counts {
					samples = append(samples, time.Since(began)-timed)
				}
			}
			ended.Done()
		})
		task := func() {
			compute(loadTask)
			left.Add(-1)
			ended.Done()
		}
		for range load {
			start(task)
		}
		queued.Store(true)
		ended.Wait()
	}
	reportQuantiles(b, samples)
}
