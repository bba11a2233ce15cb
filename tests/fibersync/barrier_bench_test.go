package fibersync_test

import (
	"sync"
	"testing"

	"fiberlab/sched/fibersync"
)

// condBarrier is a barrier as one makes it of Go's sync.
type condBarrier struct {
	mu             sync.Mutex
	all            sync.Cond
	phase, waiting int
	parties        int
}

func (b *condBarrier) Wait() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	place := b.waiting
	if b.waiting++; b.waiting == b.parties {
		b.waiting = 0
		b.phase++
		b.all.Broadcast()
		return place
	}
	for phase := b.phase; phase == b.phase; {
		b.all.Wait()
	}
	return place
}

// BenchmarkBarrier has four fibers on one thread meet again and again. An op is one meeting that
// has been let through. The rival is a barrier made with a sync.Cond, on goroutines.
func BenchmarkBarrier(b *testing.B) {
	const parties = 4
	bench := func(b *testing.B, together func(bodies ...func()), wait func() int) {
		body := func() {
			for range (b.N + parties - 1) / parties {
				wait()
			}
		}
		b.ResetTimer()
		together(body, body, body, body)
	}
	benchCompany(b, func(b *testing.B, together func(bodies ...func())) {
		bench(b, together, fibersync.NewBarrier(parties).Wait)
	})
	benchRival(b, func(b *testing.B, together func(bodies ...func())) {
		barrier := &condBarrier{parties: parties}
		barrier.all.L = &barrier.mu
		bench(b, together, barrier.Wait)
	})
}
