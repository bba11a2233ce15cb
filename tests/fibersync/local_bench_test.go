package fibersync_test

import (
	"context"
	"testing"

	"fiberlab/sched/fibersync"
)

// BenchmarkLocal reads a task's own value. The rival looks up a value in a context, which is how
// goroutines get at such.
func BenchmarkLocal(b *testing.B) {
	benchCompany(b, func(b *testing.B, together func(...func())) {
		var own fibersync.Local[int]
		together(func() {
			own.Set(1)
			for range b.N {
				v, _ := own.Get()
				kept += v
			}
		})
	})
	benchRival(b, func(b *testing.B, together func(...func())) {
		type key struct{}
		ctx := context.WithValue(context.Background(), key{}, 1)
		together(func() {
			for range b.N {
				v, _ := ctx.Value(key{}).(int)
				kept += v
			}
		})
	})
}

// kept keeps results that a benchmark only computes.
var kept int
