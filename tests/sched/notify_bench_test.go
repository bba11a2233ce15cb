package sched_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"

	"fiberlab/sched"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

// ending is how many fibers end while BenchmarkNotify notifies another one.
const ending = 20_000

// BenchmarkNotify is a Notify by a goroutine while 20,000 fibers of the same worker end: more than the worker and the
// pool keep. worst-us is the longest of all, p99.9-us the longest but for one in a thousand. The rival signals a
// sync.Cond for which a goroutine waits, while as many goroutines end. Its worst time shows what the Go runtime and the
// kernel take from both.
func BenchmarkNotify(b *testing.B) {
	for _, cfg := range (suite.Over{Workers: []int{1}}).All() {
		b.Run(schedtest.BenchName(cfg), func(b *testing.B) {
			var took []time.Duration
			for range b.N {
				took = notifyWhileFibersEnd(b, cfg, took)
			}
			reportNotify(b, took)
		})
	}
	b.Run(schedtest.Goroutines, func(b *testing.B) {
		var took []time.Duration
		for range b.N {
			took = signalWhileGoroutinesEnd(took)
		}
		reportNotify(b, took)
	})
}

// notifyWhileFibersEnd appends how long each Notify took.
func notifyWhileFibersEnd(b *testing.B, cfg sched.Config, took []time.Duration) []time.Duration {
	s, err := sched.New(cfg)
	require.NoError(b, err)
	sleepers := make([]*schedtest.Sleeper, ending+1)
	for i := range sleepers {
		sleepers[i] = schedtest.NewSleeper()
		require.NoError(b, s.Enqueue(sched.Task{Func: sleepers[i].Task}))
	}
	for _, p := range sleepers {
		p.Begun.Wait()
	}
	target := sleepers[0].Blocked()
	var over atomic.Bool
	go func() {
		for _, p := range sleepers[1:] {
			p.Wake()
		}
		for _, p := range sleepers[1:] {
			p.Over.Wait()
		}
		over.Store(true)
	}()
	for !over.Load() {
		began := time.Now()
		target.Notify()
		took = append(took, time.Since(began))
	}
	sleepers[0].Wake()
	require.NoError(b, s.Close())
	return took
}

// signalWhileGoroutinesEnd appends how long each Signal took.
func signalWhileGoroutinesEnd(took []time.Duration) []time.Duration {
	var mu sync.Mutex
	finished := false
	target := sync.NewCond(&mu)
	ended := schedtest.NewCountdown(1)
	go func() {
		mu.Lock()
		defer mu.Unlock()
		for !finished {
			target.Wait()
		}
		ended.Done()
	}()
	gates := make([]chan struct{}, ending)
	left := schedtest.NewCountdown(ending)
	for i := range gates {
		gates[i] = make(chan struct{})
		go func() {
			<-gates[i]
			left.Done()
		}()
	}
	var over atomic.Bool
	go func() {
		for _, gate := range gates {
			close(gate)
		}
		left.Wait()
		over.Store(true)
	}()
	for !over.Load() {
		began := time.Now()
		target.Signal()
		took = append(took, time.Since(began))
	}
	mu.Lock()
	finished = true
	mu.Unlock()
	target.Signal()
	ended.Wait()
	return took
}

func reportNotify(b *testing.B, took []time.Duration) {
	var sum time.Duration
	for _, d := range took {
		sum += d
	}
	us := inMicroseconds(took)
	b.ReportMetric(us[len(us)-1], "worst-us")
	b.ReportMetric(stat.Quantile(0.999, stat.Empirical, us, nil), "p99.9-us")
	b.ReportMetric(float64(sum.Nanoseconds())/float64(len(took)), "ns/notify")
	b.ReportMetric(0, "ns/op")
}
