package sched_test

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fiberlab/sched"
	"fiberlab/tests/internal/schedtest"
)

const (
	longTask      = 2 * time.Millisecond
	shortTask     = 10 * time.Microsecond
	shortEvery    = 500 * time.Microsecond // on average; each gap is between none and twice as long
	shortFibers   = 64                     // that are blocked and notified in turn
	fewestForTail = 4000                   // samples, even if b.N asks for less
)

// BenchmarkTail measures how long short tasks wait beside long ones. On two workers there is always one task that
// computes for 2 ms; at its end it enqueues the next one. So half of the capacity is free at any time. At the same time
// a goroutine brings short tasks of 10 us at random moments: it enqueues a task (by=enqueue), or it notifies a fiber
// that waits for it (by=notify). A sample is the time from that call until the short task runs. Fibers that stay with
// their worker wait for the end of a long task whenever that worker has it.
//
// The fibers that are notified have been begun two at a time, one by each worker, so that each worker has half of them.
// The rivals are goroutines. They need no second thread: a new one runs where its maker ran, once that waits.
func BenchmarkTail(b *testing.B) {
	schedtest.BenchOn(b, []int{2}, func(b *testing.B, s *sched.Scheduler) {
		measureTails(b, func(task func()) { schedtest.Enqueue(b, s, task) })
	})
	b.Run(schedtest.Goroutines, func(b *testing.B) {
		measureTails(b, func(task func()) { go task() })
	})
}

func measureTails(b *testing.B, start func(task func())) {
	b.Run("by=enqueue", func(b *testing.B) {
		var waited schedtest.Journal[time.Duration]
		measureTail(b, start, func() {
			called := time.Now()
			start(func() {
				waited.Add(time.Since(called))
				compute(shortTask)
			})
		}, waited.All)
	})
	b.Run("by=notify", func(b *testing.B) {
		fibers := blockShortFibers(start)
		var waited schedtest.Journal[time.Duration]
		next := 0
		measureTail(b, start, func() {
			fibers[next].bring(&waited)
			next = (next + 1) % len(fibers)
		}, waited.All)
		for _, f := range fibers {
			f.end()
		}
	})
}

// measureTail keeps long tasks running, and calls bring at random moments until there have been enough; then it waits
// until samples has as many, and reports them.
func measureTail(b *testing.B, start func(task func()), bring func(), samples func() []time.Duration) {
	random := rand.New(rand.NewPCG(1, 2)) // the same moments for all
	n := max(b.N, fewestForTail)
	var over atomic.Bool
	ended := schedtest.NewCountdown(1)
	var long func()
	long = func() {
		if over.Load() {
			ended.Done()
			return
		}
		compute(longTask)
		start(long)
	}
	start(long)
	b.ResetTimer()
	for range n {
		time.Sleep(time.Duration(random.Int64N(int64(2 * shortEvery))))
		bring()
	}
	for len(samples()) < n {
		time.Sleep(longTask)
	}
	b.StopTimer()
	over.Store(true)
	ended.Wait()
	reportTail(b, samples())
}

// shortFiber is a task that waits, runs for a short time whenever it is brought something, and waits again.
type shortFiber struct {
	mu     sync.Mutex
	wake   func()
	called time.Time // zero if nothing has been brought since its last run
	waited *schedtest.Journal[time.Duration]
	over   bool
	ended  *schedtest.Latch
}

// blockShortFibers starts short fibers, two at a time that meet while each holds its thread, and returns when all are
// blocked.
func blockShortFibers(start func(task func())) []*shortFiber {
	fibers := make([]*shortFiber, shortFibers)
	for i := 0; i < len(fibers); i += 2 {
		var met sync.WaitGroup
		met.Add(2)
		blocked := schedtest.NewLatch(2)
		for j := i; j < i+2; j++ {
			f := &shortFiber{ended: schedtest.NewLatch(1)}
			fibers[j] = f
			start(func() {
				met.Done()
				met.Wait()
				f.run(blocked)
			})
		}
		blocked.Wait()
	}
	return fibers
}

func (f *shortFiber) run(blocked *schedtest.Latch) {
	defer f.ended.Done()
	f.mu.Lock()
	defer f.mu.Unlock()
	wait, wake := waiter(&f.mu)
	f.wake = wake
	blocked.Done()
	for {
		wait(func() bool { return !f.called.IsZero() || f.over })
		if f.over {
			return
		}
		f.waited.Add(time.Since(f.called))
		f.called = time.Time{}
		f.mu.Unlock()
		compute(shortTask)
		f.mu.Lock()
	}
}

// bring makes the fiber run, after what was brought to it before.
func (f *shortFiber) bring(waited *schedtest.Journal[time.Duration]) {
	for {
		f.mu.Lock()
		if f.called.IsZero() {
			break
		}
		f.mu.Unlock()
		time.Sleep(longTask)
	}
	f.waited, f.called = waited, time.Now()
	wake := f.wake
	f.mu.Unlock()
	wake()
}

func (f *shortFiber) end() {
	f.mu.Lock()
	f.over = true
	f.wake()
	f.mu.Unlock()
	f.ended.Wait()
}
