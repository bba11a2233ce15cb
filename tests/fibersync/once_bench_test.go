package fibersync_test

import (
	"sync"
	"testing"

	"fiberlab/sched/fibersync"
)

// BenchmarkOnce measures a first Do, on a new Once each, and a later one. The
// rival is sync.Once.
func BenchmarkOnce(b *testing.B) {
	nothing := func() {}
	benchCompany(b, func(b *testing.B, together func(bodies ...func())) {
		b.Run("first", func(b *testing.B) {
			together(func() {
				b.ResetTimer()
				for range b.N {
					var once fibersync.Once
					once.Do(nothing)
				}
			})
		})
		b.Run("later", func(b *testing.B) {
			together(func() {
				var once fibersync.Once
				b.ResetTimer()
				for range b.N {
					once.Do(nothing)
				}
			})
		})
	})
	benchRival(b, func(b *testing.B, together func(bodies ...func())) {
		b.Run("first", func(b *testing.B) {
			together(func() {
				b.ResetTimer()
				for range b.N {
					var once sync.Once
					once.Do(nothing)
				}
			})
		})
		b.Run("later", func(b *testing.B) {
			together(func() {
				var once sync.Once
				b.ResetTimer()
				for range b.N {
					once.Do(nothing)
				}
			})
		})
	})
}
