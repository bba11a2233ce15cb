package forkjoin_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/sched/forkjoin"
)

// loop is what a benchmark runs on a pool, and beside it without one.
type loop struct {
	name    string
	prepare func() // before each turn; its time is not taken
	serial  func()
	run     func(p *forkjoin.Pool)
	rival   func() // on two goroutines; nil: there is none
}

// compareLoop calls run and what l runs without a pool, in turn, and reports the median of run's turns and how many
// times quicker it is.
func compareLoop(b *testing.B, l loop, run func()) {
	took := func(f func()) float64 {
		l.prepare()
		began := time.Now()
		f()
		return float64(time.Since(began))
	}
	var own, serial []float64
	b.ResetTimer()
	for range b.N {
		own = append(own, took(run))
		serial = append(serial, took(l.serial))
	}
	b.StopTimer()
	b.ReportMetric(slices.Min(own), "ns-least")
	b.ReportMetric(median(own), "ns/op")
	b.ReportMetric(median(serial)/median(own), "x")
	b.ReportMetric(slices.Min(serial)/slices.Min(own), "x-least")
}

// BenchmarkLoops compares loops with what a program without a pool would run. There is For with a body of a nanosecond
// and of some microseconds, by the automatic grain and by grains that a user might choose. Then there are the functions
// on lists, for Reduce of 8 and 16 MB. Its rival is two goroutines, each with a half. x is how many times quicker the
// pool or the rival is; x-least is the same for the least disturbed turn of each.
func BenchmarkLoops(b *testing.B) {
	const n = 1 << 20
	list, results, texts := make([]int, n), make([]int, n), make([]string, n)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range list {
		list[i] = random.IntN(1 << 40)
		texts[i] = strconv.Itoa(list[i])
	}
	sorted, sortedTexts := make([]int, n), make([]string, n)
	nothing := func() {}
	cheap := func(_ *forkjoin.Pool, begin, end int) {
		from, to := list[begin:end], results[begin:end]
		for i, v := range from {
			to[i] = 3*v + 1
		}
	}
	const few = 1 << 10
	dear := func(_ *forkjoin.Pool, begin, end int) {
		for i := begin; i < end; i++ {
			v := float64(list[i])
			for range 200 {
				v = math.Sqrt(v) + 1
			}
			results[i] = int(v)
		}
	}
	add := func(a, b int) int { return a + b }
	var loops []loop
	for _, size := range []int{100, 10_000, n} {
		for _, grain := range []int{0, 1_000, 30_000, n/4 + 1} {
			loops = append(loops, loop{
				name: fmt.Sprintf("for-cheap/n=%d/grain=%d", size, grain), prepare: nothing,
				serial: func() { cheap(nil, 0, size) },
				run:    func(p *forkjoin.Pool) { forkjoin.For(p, forkjoin.Range{End: size, Grain: grain}, cheap) },
			})
		}
	}
	for _, grain := range []int{0, 1, 16, few / 16} {
		loops = append(loops, loop{
			name: fmt.Sprintf("for-dear/n=%d/grain=%d", few, grain), prepare: nothing,
			serial: func() { dear(nil, 0, few) },
			run:    func(p *forkjoin.Pool) { forkjoin.For(p, forkjoin.Range{End: few, Grain: grain}, dear) },
		})
	}
	loops = append(loops,
		loop{
			name: "map", prepare: nothing,
			serial: func() {
				to := make([]string, n/16)
				for i := range to {
					to[i] = strconv.Itoa(list[i])
				}
			},
			run: func(p *forkjoin.Pool) {
				forkjoin.Map(p, list[:n/16], func(_ *forkjoin.Pool, v int) string { return strconv.Itoa(v) })
			},
		},
		loop{
			name: "scan", prepare: nothing,
			serial: func() {
				to := make([]int, n)
				to[0] = list[0]
				for i := 1; i < n; i++ {
					to[i] = add(to[i-1], list[i])
				}
			},
			run: func(p *forkjoin.Pool) { forkjoin.Scan(p, list, add) },
		},
		loop{
			name: "sort/ints", prepare: func() { copy(sorted, list) },
			serial: func() { slices.SortFunc(sorted, cmp.Compare[int]) },
			run:    func(p *forkjoin.Pool) { forkjoin.SortFunc(p, sorted, cmp.Compare[int]) },
		},
		loop{
			name: "sort/ints-stable", prepare: func() { copy(sorted, list) },
			serial: func() { slices.SortFunc(sorted, cmp.Compare[int]) },
			run:    func(p *forkjoin.Pool) { forkjoin.SortStableFunc(p, sorted, cmp.Compare[int]) },
		},
		loop{
			name: "sort/strings", prepare: func() { copy(sortedTexts, texts) },
			serial: func() { slices.SortFunc(sortedTexts, strings.Compare) },
			run:    func(p *forkjoin.Pool) { forkjoin.SortFunc(p, sortedTexts, strings.Compare) },
		},
	)
	sum := func(list []int) (sum int) {
		for _, v := range list {
			sum += v
		}
		return sum
	}
	for _, list := range [][]int{list, slices.Concat(list, list)} {
		loops = append(loops, loop{
			name: fmt.Sprintf("reduce/n=%d", len(list)), prepare: nothing,
			serial: func() { results[0] += sum(list) },
			run: func(p *forkjoin.Pool) {
				part := func(_ *forkjoin.Pool, begin, end int) int { return sum(list[begin:end]) }
				results[0] += forkjoin.Reduce(p, forkjoin.Range{End: len(list)}, part, add)
			},
			rival: func() {
				upper := make(chan int)
				go func() { upper <- sum(list[len(list)/2:]) }()
				results[0] += sum(list[:len(list)/2]) + <-upper
			},
		})
	}
	for _, l := range loops {
		if l.rival != nil {
			b.Run(l.name+"/workers=2/form=goroutines", func(b *testing.B) { compareLoop(b, l, l.rival) })
		}
		for _, workers := range []int{1, 2} {
			for _, form := range forkjoin.Forms() {
				b.Run(fmt.Sprintf("%s/workers=%d/form=%v", l.name, workers, form), func(b *testing.B) {
					onScheduler(b, workers, func(s *sched.Scheduler) {
						p, err := forkjoin.New(s, forkjoin.Config{Form: form})
						require.NoError(b, err)
						require.NoError(b, fibersync.On(s, func() {
							_, err = forkjoin.Submit(p, func(p *forkjoin.Pool) (struct{}, error) {
								compareLoop(b, l, func() { l.run(p) })
								return struct{}{}, nil
							}).Get()
						}))
						require.NoError(b, err)
						require.NoError(b, p.Close())
					})
				})
			}
		}
	}
}
