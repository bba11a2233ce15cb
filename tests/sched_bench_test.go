package tests

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"

	"fiberlab/fiber"
	"fiberlab/sched"
)

// onSchedulers runs a sub-benchmark BACKEND/workers=N for every backend and each of the given numbers of
// workers, each on a scheduler of its own. With 0 workers it runs on a goroutine that is bound.
func onSchedulers(b *testing.B, workers []int, run func(b *testing.B, s *sched.Scheduler)) {
	for _, backend := range fiber.Backends() {
		for _, n := range workers {
			b.Run(fmt.Sprintf("%v/workers=%d", backend, n), func(b *testing.B) {
				s, err := sched.New(sched.Config{Workers: n, Backend: backend})
				require.NoError(b, err)
				if n == 0 {
					require.NoError(b, s.Bind())
				}
				run(b, s)
				if n == 0 {
					require.NoError(b, sched.Unbind())
				}
				require.NoError(b, s.Close())
				require.NoError(b, fiber.Drain())
			})
		}
	}
}

// countdown lets one goroutine or fiber wait until so many tasks are done. It serves once.
type countdown struct {
	left   atomic.Int64
	over   chan struct{}
	mu     sync.Mutex
	waiter *sched.Fiber
}

func newCountdown(n int) *countdown {
	c := &countdown{over: make(chan struct{})}
	c.left.Store(int64(n))
	return c
}

func (c *countdown) done() {
	if c.left.Add(-1) > 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.over)
	if c.waiter != nil {
		c.waiter.Notify()
	}
}

// wait blocks the calling fiber, or the goroutine if it is none.
func (c *countdown) wait() {
	f := sched.Current()
	if f == nil {
		<-c.over
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiter = f
	f.Wait(&c.mu, func() bool { return c.left.Load() == 0 })
}

// enqueue queues f on s.
func enqueue(b *testing.B, s *sched.Scheduler, f func()) {
	if err := s.Enqueue(sched.Task{Func: f}); err != nil {
		b.Error(err)
	}
}

// onEachWorker runs each of the functions as a task, the i-th of them pinned to the i-th of as many
// workers as there are functions, and returns when all have returned.
func onEachWorker(b *testing.B, s *sched.Scheduler, bodies ...func()) {
	var met sync.WaitGroup
	met.Add(len(bodies))
	c := newCountdown(len(bodies))
	for _, body := range bodies {
		enqueue(b, s, func() {
			// Each holds its worker's thread until all have one.
			met.Done()
			met.Wait()
			err := s.Enqueue(sched.Task{Flags: sched.SameThread, Func: func() {
				body()
				c.done()
			}})
			if err != nil {
				b.Error(err)
			}
		})
	}
	c.wait()
}

// fewestSamples is how many samples quantiles are taken of even if b.N asks for less.
const fewestSamples = 200

// reportQuantiles reports the median and the 99th percentile, in microseconds, in the place of ns/op.
func reportQuantiles(b *testing.B, samples []time.Duration) {
	us := make([]float64, len(samples))
	for i, d := range samples {
		us[i] = float64(d.Nanoseconds()) / 1e3
	}
	slices.Sort(us)
	b.ReportMetric(stat.Quantile(0.5, stat.Empirical, us, nil), "p50-us")
	b.ReportMetric(stat.Quantile(0.99, stat.Empirical, us, nil), "p99-us")
	b.ReportMetric(0, "ns/op")
}
