package fibersync_test

import (
	"context"
	"testing"

	"fiberlab/sched/fibersync"
)

// BenchmarkSelect has one client receive, by a choice of two channels, what another one sends to
// either in turn. An op is one value. The rival is two goroutines with Go's channels and select.
func BenchmarkSelect(b *testing.B) {
	benchCompany(b, func(b *testing.B, together func(bodies ...func())) {
		chs := [2]*fibersync.Channel[int]{fibersync.NewChannel[int](0), fibersync.NewChannel[int](0)}
		b.ReportAllocs()
		together(func() {
			for i := range b.N {
				chs[i%2].Send(i)
			}
		}, func() {
			cases := []fibersync.Case{chs[0].OnReceive(nil), chs[1].OnReceive(nil)}
			for range b.N {
				if _, err := fibersync.Select(context.Background(), cases...); err != nil {
					b.Error(err)
				}
			}
		})
	})
	benchRival(b, func(b *testing.B, together func(bodies ...func())) {
		chs := [2]chan int{make(chan int), make(chan int)}
		b.ReportAllocs()
		together(func() {
			for i := range b.N {
				chs[i%2] <- i
			}
		}, func() {
			for range b.N {
				select {
				case <-chs[0]:
				case <-chs[1]:
				}
			}
		})
	})
}
