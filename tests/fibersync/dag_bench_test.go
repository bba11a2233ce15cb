package fibersync_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/sched/fibersync"
)

// BenchmarkDAG runs a graph of ten nodes that do next to nothing: one, eight after it, and one after these.
// The rival does the same by goroutines and a sync.WaitGroup.
func BenchmarkDAG(b *testing.B) {
	const width = 8
	benchWorkers(b, []int{1, 2}, func(b *testing.B, together func(...func())) {
		var declare fibersync.DAGBuilder[*[width]int]
		root := declare.Node(func(*[width]int) {})
		var fan []fibersync.NodeID
		for i := range width {
			fan = append(fan, declare.Node(func(v *[width]int) { v[i]++ }, root))
		}
		declare.Node(func(v *[width]int) { v[0]++ }, fan...)
		d, err := declare.Build()
		require.NoError(b, err)
		together(func() {
			b.ReportAllocs()
			v := new([width]int)
			for range b.N {
				d.Run(v)
			}
		})
	})
	benchRival(b, func(b *testing.B, together func(...func())) {
		together(func() {
			b.ReportAllocs()
			v := new([width]int)
			for range b.N {
				var wg sync.WaitGroup
				wg.Add(width)
				for i := range width {
					go func() {
						v[i]++
						wg.Done()
					}()
				}
				wg.Wait()
				v[0]++
			}
		})
	})
}
