package fibersync_test

import (
	"testing"

	"fiberlab/sched/fibersync"
)

// BenchmarkEvent measures a signal that the same fiber takes; and two fibers on one thread that
// signal each other by turns, where an op is one signal. The rival is a channel that holds
// one, on goroutines.
func BenchmarkEvent(b *testing.B) {
	benchCompany(b, func(b *testing.B, together func(bodies ...func())) {
		benchEvent(b, together, func() (signal, wait func()) {
			var e fibersync.Event
			return e.Signal, e.Wait
		})
	})
	benchRival(b, func(b *testing.B, together func(bodies ...func())) {
		benchEvent(b, together, func() (signal, wait func()) {
			e := make(chan struct{}, 1)
			signal = func() {
				select {
				case e <- struct{}{}:
				default:
				}
			}
			return signal, func() { <-e }
		})
	})
}

func benchEvent(b *testing.B, together func(bodies ...func()), newEvent func() (signal, wait func())) {
	b.Run("take", func(b *testing.B) {
		together(func() {
			signal, wait := newEvent()
			b.ResetTimer()
			for range b.N {
				signal()
				wait()
			}
		})
	})
	b.Run("by turns", func(b *testing.B) {
		there, awaitThere := newEvent()
		back, awaitBack := newEvent()
		rounds := (b.N + 1) / 2
		b.ResetTimer()
		together(func() {
			for range rounds {
				there()
				awaitBack()
			}
		}, func() {
			for range rounds {
				awaitThere()
				back()
			}
		})
	})
}
