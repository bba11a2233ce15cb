package sched_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fiberlab/sched"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

// BenchmarkNotify is a Notify by a goroutine while 20,000 fibers of the same worker end, more
// than the worker and the pool keep. worst-us is the longest of all.
func BenchmarkNotify(b *testing.B) {
	for _, cfg := range (suite.Over{Workers: []int{1}}).All() {
		b.Run(suite.Name(cfg), func(b *testing.B) {
			const fibers = 20_000
			var worst time.Duration
			notified := 0
			b.ResetTimer()
			for range b.N {
				b.StopTimer()
				s, err := sched.New(cfg)
				require.NoError(b, err)
				sleepers := make([]*schedtest.Sleeper, fibers)
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
				b.StartTimer()
				for !over.Load() {
					began := time.Now()
					target.Notify()
					worst = max(worst, time.Since(began))
					notified++
				}
				b.StopTimer()
				sleepers[0].Wake()
				require.NoError(b, s.Close())
			}
			b.ReportMetric(float64(worst.Microseconds()), "worst-us")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(notified), "ns/notify")
		})
	}
}
