package sched_test

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fiberlab/sched"
	"fiberlab/tests/internal/schedtest"
)

const (
	turnTakers  = 1000             // must be even
	turnWork    = time.Microsecond // what a turn computes
	fewestTurns = 50               // of each, even if b.N asks for less
)

// BenchmarkFairness has 1,000 fibers on two workers. In its turn, each computes for 1 us and then lets others go first:
// by Yield (by=yield), or by waiting for its partner, which does the same (by=wait). A sample is the time from one turn
// of a fiber to its next. A policy is fair if the longest of these times is not much longer than the median: worst/p50.
// An op is a turn. The rivals are goroutines, with runtime.Gosched and sync.Cond.
//
// No fiber ends before all have had their turns, so there are as many of them all the time.
func BenchmarkFairness(b *testing.B) {
	schedtest.BenchOn(b, []int{2}, func(b *testing.B, s *sched.Scheduler) {
		start := func(task func()) { schedtest.Enqueue(b, s, task) }
		b.Run("by=yield", func(b *testing.B) { measureTurns(b, start, yieldInTurn(sched.Yield)) })
		b.Run("by=wait", func(b *testing.B) { measureTurns(b, start, waitInPairs()) })
	})
	start := func(task func()) { go task() }
	b.Run(schedtest.Goroutines+"/by=yield", func(b *testing.B) { measureTurns(b, start, yieldInTurn(runtime.Gosched)) })
	b.Run(schedtest.Goroutines+"/by=wait", func(b *testing.B) { measureTurns(b, start, waitInPairs()) })
}

// measureTurns starts as many tasks as there are turn takers. Each calls part with its number and a function that
// part calls at each turn, until that returns false.
func measureTurns(b *testing.B, start func(task func()), part func(i int, turn func() bool)) {
	each := max(b.N/turnTakers, fewestTurns)
	gaps := make([]time.Duration, turnTakers*each)
	var began, finished atomic.Int64
	ended := schedtest.NewCountdown(turnTakers)
	for i := range turnTakers {
		start(func() {
			var last time.Time
			turns := 0
			all := false // whether all have begun
			part(i, func() bool {
				now := time.Now()
				switch {
				case last.IsZero():
					began.Add(1)
				case !all:
					all = began.Load() == turnTakers
				case turns < each:
					gaps[i*each+turns] = now.Sub(last)
					if turns++; turns == each {
						finished.Add(1)
					}
				}
				last = now
				compute(turnWork)
				return finished.Load() < turnTakers
			})
			ended.Done()
		})
	}
	ended.Wait()
	b.StopTimer()
	reportTail(b, gaps)
	us := inMicroseconds(gaps)
	b.ReportMetric(us[len(us)-1]/us[len(us)/2], "worst/p50")
}

// yieldInTurn is the part of a task that yields after each turn.
func yieldInTurn(yield func()) func(int, func() bool) {
	return func(_ int, turn func() bool) {
		for turn() {
			yield()
		}
	}
}

// waitInPairs is the part of one of two that wait for each other: each has a turn when the other has had one.
func waitInPairs() func(int, func() bool) {
	type pair struct {
		mu   sync.Mutex
		next int // whose turn it is, 0 or 1
		over bool
		wake [2]func()
	}
	pairs := make([]pair, turnTakers/2)
	return func(i int, turn func() bool) {
		p, me, other := &pairs[i/2], i%2, 1-i%2
		p.mu.Lock()
		defer p.mu.Unlock()
		wait, wake := waiter(&p.mu)
		p.wake[me] = wake
		for !p.over {
			wait(func() bool { return p.next == me || p.over })
			p.mu.Unlock()
			more := turn()
			p.mu.Lock()
			p.next, p.over = other, p.over || !more
			if p.wake[other] != nil {
				p.wake[other]()
			}
		}
	}
}

// waiter returns a function by which the caller, a fiber or a goroutine, waits until a predicate holds, and a function
// by which others tell it to ask again. Both must be called with mu held.
func waiter(mu *sync.Mutex) (wait func(predicate func() bool), wake func()) {
	if f := sched.Current(); f != nil {
		return func(predicate func() bool) { f.Wait(mu, predicate) }, f.Notify
	}
	c := sync.NewCond(mu)
	return func(predicate func() bool) {
		for !predicate() {
			c.Wait()
		}
	}, c.Signal
}
