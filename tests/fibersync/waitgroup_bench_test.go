package fibersync_test

import (
	"sync"
	"testing"

	"fiberlab/sched/fibersync"
)

// mostStarted is how many are started before they are waited for.
const mostStarted = 100

// waitGroup is one of this lab's or Go's.
type waitGroup interface {
	Add(delta int)
	Done()
	Wait()
}

// BenchmarkWaitGroup measures Add and Done by turns (two ops) on a fiber, and Wait when the count is 0. It also
// measures starting functions that only call Done, 100 before each Wait. The rival is sync.WaitGroup on goroutines.
func BenchmarkWaitGroup(b *testing.B) {
	benchCompany(b, func(b *testing.B, together func(bodies ...func())) {
		b.Run("count", func(b *testing.B) {
			together(func() {
				var g fibersync.WaitGroup
				b.ResetTimer()
				for range (b.N + 1) / 2 {
					g.Add(1)
					g.Done()
				}
			})
		})
		b.Run("pass", func(b *testing.B) {
			together(func() {
				var g fibersync.WaitGroup
				b.ResetTimer()
				for range b.N {
					g.Wait()
				}
			})
		})
		b.Run("start", func(b *testing.B) {
			together(func() {
				var g fibersync.WaitGroup
				b.ResetTimer()
				benchWaitGroupStart(b, &g, func() { g.Go(func() {}) })
			})
		})
	})
	benchRival(b, func(b *testing.B, together func(bodies ...func())) {
		b.Run("count", func(b *testing.B) {
			together(func() {
				var g sync.WaitGroup
				b.ResetTimer()
				for range (b.N + 1) / 2 {
					g.Add(1)
					g.Done()
				}
			})
		})
		b.Run("pass", func(b *testing.B) {
			together(func() {
				var g sync.WaitGroup
				b.ResetTimer()
				for range b.N {
					g.Wait()
				}
			})
		})
		b.Run("start", func(b *testing.B) {
			together(func() {
				var g sync.WaitGroup
				b.ResetTimer()
				benchWaitGroupStart(b, &g, func() {
					g.Add(1)
					go func() { defer g.Done() }()
				})
			})
		})
	})
}

func benchWaitGroupStart(b *testing.B, g waitGroup, start func()) {
	for left := b.N; left > 0; left -= mostStarted {
		for range min(left, mostStarted) {
			start()
		}
		g.Wait()
	}
}
