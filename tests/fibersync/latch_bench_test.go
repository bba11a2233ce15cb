package fibersync_test

import (
	"sync"
	"testing"

	"fiberlab/sched/fibersync"
)

// BenchmarkLatch measures CountDown of a latch without waiters, Wait for an open latch, and two fibers on one thread
// that open a latch for each other by turns. An op of the last is one latch. The rivals run on goroutines:
// sync.WaitGroup for the first, a channel that is closed for the others.
func BenchmarkLatch(b *testing.B) {
	benchCompany(b, func(b *testing.B, together func(bodies ...func())) {
		b.Run("count down", func(b *testing.B) {
			together(func() {
				l := fibersync.NewLatch(b.N)
				b.ResetTimer()
				for range b.N {
					l.CountDown()
				}
			})
		})
		b.Run("pass", func(b *testing.B) {
			together(func() {
				l := fibersync.NewLatch(0)
				b.ResetTimer()
				for range b.N {
					l.Wait()
				}
			})
		})
		b.Run("by turns", func(b *testing.B) {
			benchLatchByTurns(b, together, func() (open, wait func()) {
				l := fibersync.NewLatch(1)
				return l.CountDown, l.Wait
			})
		})
	})
	benchRival(b, func(b *testing.B, together func(bodies ...func())) {
		b.Run("count down", func(b *testing.B) {
			together(func() {
				var g sync.WaitGroup
				g.Add(b.N)
				b.ResetTimer()
				for range b.N {
					g.Done()
				}
			})
		})
		b.Run("pass", func(b *testing.B) {
			together(func() {
				l := make(chan struct{})
				close(l)
				b.ResetTimer()
				for range b.N {
					<-l
				}
			})
		})
		b.Run("by turns", func(b *testing.B) {
			benchLatchByTurns(b, together, func() (open, wait func()) {
				l := make(chan struct{})
				return func() { close(l) }, func() { <-l }
			})
		})
	})
}

// gate is a latch of 1: a primitive's, or a rival's.
type gate struct{ open, wait func() }

// benchLatchByTurns has two wait for every other gate and open the one after it.
func benchLatchByTurns(b *testing.B, together func(bodies ...func()), newGate func() (open, wait func())) {
	gates := make([]gate, b.N+1)
	for i := range gates {
		gates[i].open, gates[i].wait = newGate()
	}
	gates[0].open()
	play := func(first int) func() {
		return func() {
			for i := first; i < b.N; i += 2 {
				gates[i].wait()
				gates[i+1].open()
			}
		}
	}
	b.ResetTimer()
	together(play(0), play(1))
}
