package fibersync_test

import (
	"runtime"
	"testing"

	"fiberlab/sched/fibersync"
)

// BenchmarkBlockingCall is a call of an empty function elsewhere. The rivals start a goroutine for it and receive from
// a channel. The first receives on a goroutine with its own thread, as a worker has one. The second receives on a
// goroutine that may share its thread with the one that it starts.
func BenchmarkBlockingCall(b *testing.B) {
	benchCompany(b, func(b *testing.B, together func(bodies ...func())) {
		b.ReportAllocs()
		together(func() {
			for range b.N {
				fibersync.BlockingCall(func() {})
			}
		})
	})
	benchRival(b, func(b *testing.B, together func(bodies ...func())) {
		call := func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				over := make(chan struct{})
				go func() { close(over) }()
				<-over
			}
		}
		b.Run("locked", func(b *testing.B) {
			together(func() {
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
				call(b)
			})
		})
		b.Run("free", func(b *testing.B) { together(func() { call(b) }) })
	})
}
