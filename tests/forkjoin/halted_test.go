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

// A panic also halts the strands that have taken other parts. The first step panics when another strand has begun one. The others
// take a while, and the longer the more have begun: nine strands do all of them in three seconds, and so long the strand that panics may need
// until it has halted them.
func TestPanicHaltsOtherStrands(t *testing.T) {
	forktest.EachPool(t, func(t *testing.T, s *sched.Scheduler, p *forkjoin.Pool) {
		const n = 3000
		for name, call := range plain {
			schedtest.Perform(t, s, func() {
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
						time.Sleep(time.Duration(begun.Load()) * 6 * time.Microsecond) // with its thread
					})
				})
				requirePanic(t, value)
				assert.Less(t, begun.Load(), int64(n-1), "steps of %s that have begun", name)
			})
			if t.Failed() {
				return
			}
		}
	})
}
