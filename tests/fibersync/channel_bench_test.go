package fibersync_test

import (
	"fmt"
	"testing"

	"fiberlab/sched/fibersync"
)

// BenchmarkChannel has one client send to another one. An op is one value. Without a capacity it is a
// hand-over, and takes a switch; with one, many values are sent and received for each switch.
// There and back, an op is a value that returns by a second channel, and takes two switches. The rival is
// two goroutines with Go's channels.
func BenchmarkChannel(b *testing.B) {
	for _, capacity := range []int{0, 16, 128} {
		b.Run(fmt.Sprintf("capacity=%d", capacity), func(b *testing.B) {
			benchCompany(b, func(b *testing.B, together func(bodies ...func())) {
				c := fibersync.NewChannel[int](capacity)
				b.ReportAllocs()
				together(func() {
					for i := range b.N {
						c.Send(i)
					}
				}, func() {
					for range b.N {
						c.Receive()
					}
				})
			})
			benchRival(b, func(b *testing.B, together func(bodies ...func())) {
				c := make(chan int, capacity)
				b.ReportAllocs()
				together(func() {
					for i := range b.N {
						c <- i
					}
				}, func() {
					for range b.N {
						<-c
					}
				})
			})
		})
	}
	b.Run("there-and-back", func(b *testing.B) {
		benchCompany(b, func(b *testing.B, together func(bodies ...func())) {
			there, back := fibersync.NewChannel[int](0), fibersync.NewChannel[int](0)
			b.ReportAllocs()
			together(func() {
				for i := range b.N {
					there.Send(i)
					back.Receive()
				}
			}, func() {
				for range b.N {
					v, _ := there.Receive()
					back.Send(v)
				}
			})
		})
		benchRival(b, func(b *testing.B, together func(bodies ...func())) {
			there, back := make(chan int), make(chan int)
			b.ReportAllocs()
			together(func() {
				for i := range b.N {
					there <- i
					<-back
				}
			}, func() {
				for range b.N {
					back <- <-there
				}
			})
		})
	})
}
