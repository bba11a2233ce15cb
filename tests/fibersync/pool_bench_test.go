package fibersync_test

import (
	"testing"

	"fiberlab/sched/fibersync"
)

// BenchmarkPool borrows an item and returns it, alone, and as eight parties who share two items and hold
// them while others run. The rival keeps the items in a channel.
func BenchmarkPool(b *testing.B) {
	parties := map[string]int{"alone": 1, "shared": 8}
	for _, name := range []string{"alone", "shared"} {
		b.Run(name, func(b *testing.B) {
			benchCompany(b, func(b *testing.B, together func(...func())) {
				pool := fibersync.NewBoundedPool(2, fibersync.Items[int]{})
				benchPool(b, parties[name], together, func(use func(*int)) {
					loan := pool.Borrow()
					use(loan.Get())
					loan.Return()
				})
			})
			benchRival(b, func(b *testing.B, together func(...func())) {
				items := make(chan *int, 2)
				items <- new(int)
				items <- new(int)
				benchPool(b, parties[name], together, func(use func(*int)) {
					i := <-items
					use(i)
					items <- i
				})
			})
		})
	}
}

func benchPool(b *testing.B, parties int, together func(...func()), turn func(use func(*int))) {
	b.ReportAllocs()
	bodies := make([]func(), parties)
	for i := range bodies {
		bodies[i] = func() {
			for range b.N / parties {
				turn(func(item *int) {
					*item++
					if parties > 1 {
						pause()
					}
				})
			}
		}
	}
	together(bodies...)
}
