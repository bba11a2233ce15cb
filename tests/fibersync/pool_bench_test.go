package fibersync_test

import (
	"testing"

	"fiberlab/sched/fibersync"
)

// BenchmarkPool borrows an item and returns it, alone, and as eight clients that share two items and hold
// them while others run. The rival keeps the items in a channel.
func BenchmarkPool(b *testing.B) {
	clients := map[string]int{"alone": 1, "shared": 8}
	for _, name := range []string{"alone", "shared"} {
		b.Run(name, func(b *testing.B) {
			benchCompany(b, func(b *testing.B, together func(...func())) {
				pool := fibersync.NewBoundedPool(2, fibersync.Items[int]{})
				benchPool(b, clients[name], together, func(use func(*int)) {
					loan := pool.Borrow()
					use(loan.Get())
					loan.Return()
				})
			})
			benchRival(b, func(b *testing.B, together func(...func())) {
				items := make(chan *int, 2)
				items <- new(int)
				items <- new(int)
				benchPool(b, clients[name], together, func(use func(*int)) {
					i := <-items
					use(i)
					items <- i
				})
			})
		})
	}
}

func benchPool(b *testing.B, clients int, together func(...func()), turn func(use func(*int))) {
	b.ReportAllocs()
	bodies := make([]func(), clients)
	for i := range bodies {
		bodies[i] = func() {
			for range b.N / clients {
				turn(func(item *int) {
					*item++
					if clients > 1 {
						pause()
					}
				})
			}
		}
	}
	together(bodies...)
}
