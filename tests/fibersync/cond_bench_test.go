package fibersync_test

import (
	"sync"
	"testing"

	"fiberlab/sched/fibersync"
)

// condition is one of this lab's or Go's.
type condition interface {
	Wait()
	Signal()
	Broadcast()
}

// BenchmarkCond measures a Signal without waiters, two fibers on one thread that wake each other by turns, and a
// Broadcast to ten. An op of the last two is one wake-up. The rival is sync.Cond on goroutines.
func BenchmarkCond(b *testing.B) {
	benchCompany(b, func(b *testing.B, together func(bodies ...func())) {
		benchCond(b, together, func(l sync.Locker) condition { return fibersync.NewCond(l) })
	})
	benchRival(b, func(b *testing.B, together func(bodies ...func())) {
		benchCond(b, together, func(l sync.Locker) condition { return sync.NewCond(l) })
	})
}

func benchCond(b *testing.B, together func(bodies ...func()), newCond func(l sync.Locker) condition) {
	b.Run("signal without waiters", func(b *testing.B) {
		together(func() {
			cond := newCond(&sync.Mutex{})
			b.ResetTimer()
			for range b.N {
				cond.Signal()
			}
		})
	})
	b.Run("by turns", func(b *testing.B) {
		var mu sync.Mutex
		turn, conds := 0, [2]condition{newCond(&mu), newCond(&mu)}
		play := func(seat int) func() {
			return func() {
				mu.Lock()
				defer mu.Unlock()
				for range (b.N + 1) / 2 {
					for turn != seat {
						conds[seat].Wait()
					}
					turn = 1 - seat
					conds[1-seat].Signal()
				}
			}
		}
		together(play(0), play(1))
	})
	b.Run("broadcast", func(b *testing.B) {
		const waiters = 10
		var mu sync.Mutex
		rounds := (b.N + waiters - 1) / waiters
		round, waiting := 0, 0
		all, gathered := newCond(&mu), newCond(&mu)
		bodies := []func(){func() {
			mu.Lock()
			defer mu.Unlock()
			for range rounds {
				for waiting < waiters {
					gathered.Wait()
				}
				waiting = 0
				round++
				all.Broadcast()
			}
		}}
		for range waiters {
			bodies = append(bodies, func() {
				mu.Lock()
				defer mu.Unlock()
				for mine := range rounds {
					if waiting++; waiting == waiters {
						gathered.Signal()
					}
					for round == mine {
						all.Wait()
					}
				}
			})
		}
		together(bodies...)
	})
}
