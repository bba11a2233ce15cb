package fibersync_test

import (
	"testing"

	"golang.org/x/sync/errgroup"

	"fiberlab/sched/fibersync"
)

// tree is a binary tree of so many forks in two, with nothing in its leaves.
func tree(forks int, fork func(left, right func())) {
	if forks > 0 {
		left := (forks - 1) / 2
		fork(func() { tree(left, fork) }, func() { tree(forks-1-left, fork) })
	}
}

// BenchmarkParallelize is forks in two, nested in trees of a thousand. An op is a fork. The rivals
// are the same on goroutines, and errgroup.
func BenchmarkParallelize(b *testing.B) {
	trees := func(b *testing.B, together func(bodies ...func()), fork func(left, right func())) {
		const most = 1000
		b.ReportAllocs()
		together(func() {
			for left := b.N; left > 0; left -= most {
				tree(min(left, most), fork)
			}
		})
	}
	parallelize := func(left, right func()) { fibersync.Parallelize(left, right) }
	benchWorkers(
		b, []int{1, 2}, func(b *testing.B, together func(bodies ...func())) { trees(b, together, parallelize) },
	)
	benchRival(b, func(b *testing.B, together func(bodies ...func())) {
		b.Run("parallelize", func(b *testing.B) { trees(b, together, parallelize) })
		b.Run("errgroup", func(b *testing.B) {
			trees(b, together, func(left, right func()) {
				var g errgroup.Group
				for _, f := range []func(){left, right} {
					g.Go(func() error {
						f()
						return nil
					})
				}
				_ = g.Wait()
			})
		})
	})
}
