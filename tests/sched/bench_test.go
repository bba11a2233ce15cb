package sched_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat"

	"fiberlab/sched"
	"fiberlab/tests/internal/schedtest"
)

// onEachWorker runs each of the functions as a task, and returns when all have returned. There is one worker for each
// function: the i-th function is pinned to the i-th worker.
func onEachWorker(b *testing.B, s *sched.Scheduler, bodies ...func()) {
	var met sync.WaitGroup
	met.Add(len(bodies))
	c := schedtest.NewCountdown(len(bodies))
	for _, body := range bodies {
		schedtest.Enqueue(b, s, func() {
			// Each holds its worker's thread until all have one.
			met.Done()
			met.Wait()
			err := s.Enqueue(sched.Task{Flags: sched.SameThread, Func: func() {
				body()
				c.Done()
			}})
			if err != nil {
				b.Error(err)
			}
		})
	}
	c.Wait()
}

// fewestSamples is how many samples quantiles are taken of even if b.N asks for less.
const fewestSamples = 200

// reportQuantiles reports the median and the 99th percentile in microseconds, and removes ns/op.
func reportQuantiles(b *testing.B, samples []time.Duration) {
	us := inMicroseconds(samples)
	b.ReportMetric(stat.Quantile(0.5, stat.Empirical, us, nil), "p50-us")
	b.ReportMetric(stat.Quantile(0.99, stat.Empirical, us, nil), "p99-us")
	b.ReportMetric(0, "ns/op")
}

// reportTail is reportQuantiles with the longest of all but one in a thousand, and the longest of all.
func reportTail(b *testing.B, samples []time.Duration) {
	reportQuantiles(b, samples)
	us := inMicroseconds(samples)
	b.ReportMetric(stat.Quantile(0.999, stat.Empirical, us, nil), "p99.9-us")
	b.ReportMetric(us[len(us)-1], "worst-us")
}

// inMicroseconds returns the samples, shortest first.
func inMicroseconds(samples []time.Duration) []float64 {
	us := make([]float64, len(samples))
	for i, d := range samples {
		us[i] = float64(d.Nanoseconds()) / 1e3
	}
	slices.Sort(us)
	return us
}

// compute keeps the calling thread busy for d.
func compute(d time.Duration) {
	for began := time.Now(); time.Since(began) < d; {
	}
}
