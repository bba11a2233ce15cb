package forkjoin_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/sched/forkjoin"
)

// sink keeps the compiler from removing compute.
var sink [64]int

// compute is a body of about a millisecond that does not fork.
func compute(i int) {
	v := i
	for range 1 << 20 {
		v = v*1664525 + 1013904223
	}
	sink[i%len(sink)] = v
}

// BenchmarkCoarse compares how a few long bodies, which do not fork themselves, are spread over two workers: Join
// of two, forks side by side, and a loop. The rival is a goroutine for each. ideal-x is the time as a multiple of half
// of what one worker takes for all bodies, measured in turn. 1 is the ideal, and 2 is one after the other.
//
// benchstat sets the ways side by side by -col /form.
func BenchmarkCoarse(b *testing.B) {
	for _, work := range []struct {
		name   string
		bodies int
		run    func(p *forkjoin.Pool, n int)
	}{
		{"join", 2, func(p *forkjoin.Pool, _ int) {
			body := func(i int) func(*forkjoin.Pool) int { return func(*forkjoin.Pool) int { compute(i); return 0 } }
			forkjoin.Join(p, body(0), body(1))
		}},
		{"flat", 64, func(p *forkjoin.Pool, n int) { flatForks.Call(p, n) }},
		{"loop", 2, func(p *forkjoin.Pool, n int) {
			forkjoin.For(p, forkjoin.Range{End: n}, func(_ *forkjoin.Pool, begin, end int) {
				for i := begin; i < end; i++ {
					compute(i)
				}
			})
		}},
	} {
		name := func(form string) string {
			return fmt.Sprintf("work=%s/bodies=%d/form=%s", work.name, work.bodies, form)
		}
		for _, form := range forkjoin.Forms() {
			b.Run(name(form.String()), func(b *testing.B) {
				onScheduler(b, 2, func(s *sched.Scheduler) {
					p, err := forkjoin.New(s, forkjoin.Config{Form: form})
					require.NoError(b, err)
					require.NoError(b, fibersync.On(s, func() {
						compareCoarse(b, work.bodies, func() { work.run(p, work.bodies) })
					}))
					require.NoError(b, p.Close())
				})
			})
		}
		b.Run(name("goroutines"), func(b *testing.B) {
			compareCoarse(b, work.bodies, func() {
				var wg sync.WaitGroup
				for i := range work.bodies {
					wg.Add(1)
					go func() { defer wg.Done(); compute(i) }()
				}
				wg.Wait()
			})
		})
	}
}

// flatForks forks a call for each of n bodies, and then joins them.
var flatForks = forkjoin.NewFunc(func(s *forkjoin.Strand[int, int], n int) int {
	if n < 0 {
		compute(-n)
		return 0
	}
	var tickets []forkjoin.Ticket
	for i := range n {
		tickets = append(tickets, s.Fork(-1-i))
	}
	for _, t := range slices.Backward(tickets) {
		s.Join(t)
	}
	return 0
})

// compareCoarse runs bodies spread out, and one after the other, in turn. Between two runs the workers fall asleep.
func compareCoarse(b *testing.B, bodies int, run func()) {
	var spread, serial []float64
	took := func(f func()) float64 {
		began := time.Now()
		f()
		return float64(time.Since(began))
	}
	b.ResetTimer()
	for range b.N {
		spread = append(spread, took(run))
		serial = append(serial, took(func() {
			for i := range bodies {
				compute(i)
			}
		}))
	}
	b.StopTimer()
	b.ReportMetric(median(spread), "ns/op")
	b.ReportMetric(2*median(spread)/median(serial), "ideal-x")
	b.ReportMetric(2*slices.Min(spread)/slices.Min(serial), "ideal-x-least")
}
