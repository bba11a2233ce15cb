package forkjoin_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/sched/forkjoin"
	"fiberlab/tests/internal/forktest"
	"fiberlab/tests/internal/schedtest"
)

// plain are the functions without a context, in which step is called at least n-1 times.
var plain = map[string]func(p *forkjoin.Pool, n int, step func()){
	"For": func(p *forkjoin.Pool, n int, step func()) {
		forkjoin.For(p, forkjoin.Range{End: n, Grain: 1}, func(*forkjoin.Pool, int, int) { step() })
	},
	"Map": func(p *forkjoin.Pool, n int, step func()) {
		forkjoin.Map(p, make([]int, n), func(*forkjoin.Pool, int) int { step(); return 0 })
	},
	"Reduce": func(p *forkjoin.Pool, n int, step func()) {
		forkjoin.Reduce(p, forkjoin.Range{End: n, Grain: 1},
			func(*forkjoin.Pool, int, int) int { return 0 }, func(_, _ int) int { step(); return 0 })
	},
	"Scan": func(p *forkjoin.Pool, n int, step func()) {
		forkjoin.Scan(p, make([]int, n), func(_, _ int) int { step(); return 0 })
	},
}

// A panic also halts the strands that have taken other parts. The first step panics when another strand has begun one.
// The others take a while, and the longer the more have begun: nine strands do all of them in a third of a second. So
// long the strand that panics may need until it has halted them;
// if it was slower, they get four times as long, and again.
func TestPanicHaltsOtherStrands(t *testing.T) {
	every := t
	forktest.EachPool(t, func(t *testing.T, s *sched.Scheduler, p *forkjoin.Pool) {
		if every.Failed() {
			t.Skip("strands that are not halted take minutes")
		}
		for name, call := range plain {
			const n = 1000
			begun := int64(n)
			for each := 6 * time.Microsecond; begun >= n-1 && each < 100*time.Microsecond; each *= 4 {
				schedtest.Perform(t, s, func() { begun = beginAndPanic(t, p, n, each, call) })
			}
			if !assert.Less(t, begun, int64(n-1), "steps of %s that have begun", name) || t.Failed() {
				return
			}
		}
	})
}

// beginAndPanic has call do n steps, the first of which panics. The others take each for every one that has begun. It
// returns how many have.
func beginAndPanic(
	t *testing.T, p *forkjoin.Pool, n int, each time.Duration, call func(p *forkjoin.Pool, n int, step func()),
) int64 {
	var begun atomic.Int64
	var panicked atomic.Bool
	second := fibersync.NewLatch(1)
	value := recovered(func() {
		call(p, n, func() {
			switch begun.Add(1) {
			case 1:
				second.Wait()
				panicked.Store(true)
				panic(errBad)
			case 2:
				second.CountDown()
			}
			for !panicked.Load() {
				pause()
			}
			time.Sleep(time.Duration(begun.Load()) * each) // with its thread
		})
	})
	requirePanic(t, value)
	return begun.Load()
}
