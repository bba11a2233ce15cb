package fibersync_test

import (
	"testing"

	"fiberlab/sched/fibersync"
)

// BenchmarkFuture makes a promise, sets it and gets it, without waiters. The rival is
// a channel for one value.
func BenchmarkFuture(b *testing.B) {
	benchCompany(b, func(b *testing.B, together func(bodies ...func())) {
		b.ReportAllocs()
		together(func() {
			for i := range b.N {
				p := new(fibersync.Promise[int])
				p.Set(i)
				_, _ = p.Future().Get()
			}
		})
	})
	benchRival(b, func(b *testing.B, together func(bodies ...func())) {
		b.ReportAllocs()
		together(func() {
			for i := range b.N {
				p := make(chan int, 1)
				p <- i
				<-p
			}
		})
	})
}

// BenchmarkFutureRoundTrip has two clients; each waits for a promise that the other
// one settles. An op is two promises and two waits. The rival has a new channel for each.
func BenchmarkFutureRoundTrip(b *testing.B) {
	benchCompany(b, func(b *testing.B, together func(bodies ...func())) {
		b.ReportAllocs()
		// A client that has got one makes a new one before it settles the other.
		there, back := new(fibersync.Promise[int]), new(fibersync.Promise[int])
		together(func() {
			for i := range b.N {
				there.Set(i)
				_, _ = back.Future().Get()
				back = new(fibersync.Promise[int])
			}
		}, func() {
			for i := range b.N {
				_, _ = there.Future().Get()
				there = new(fibersync.Promise[int])
				back.Set(i)
			}
		})
	})
	benchRival(b, func(b *testing.B, together func(bodies ...func())) {
		b.ReportAllocs()
		there, back := make(chan int, 1), make(chan int, 1)
		together(func() {
			for i := range b.N {
				there <- i
				<-back
				back = make(chan int, 1)
			}
		}, func() {
			for i := range b.N {
				<-there
				there = make(chan int, 1)
				back <- i
			}
		})
	})
}
