package fibersync_test

import (
	"runtime"
	"sync"
	"testing"

	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/tests/internal/schedtest"
)

// BenchmarkMutex is one client that locks and unlocks an uncontended mutex.
func BenchmarkMutex(b *testing.B) {
	benchCompany(b, func(b *testing.B, together func(bodies ...func())) {
		var m fibersync.Mutex
		count := 0
		together(func() {
			for range b.N {
				m.Lock()
				count++
				m.Unlock()
			}
		})
	})
	benchRival(b, func(b *testing.B, together func(bodies ...func())) {
		var m sync.Mutex
		count := 0
		together(func() {
			for range b.N {
				m.Lock()
				count++
				m.Unlock()
			}
		})
	})
}

// contend is 8 clients that all do b.N / 8 turns with one lock.
func contend(b *testing.B, together func(bodies ...func()), lock sync.Locker, inside func()) {
	const clients = 8
	bodies := make([]func(), clients)
	for i := range bodies {
		bodies[i] = func() {
			for range (b.N + i) / clients {
				lock.Lock()
				inside()
				lock.Unlock()
			}
		}
	}
	together(bodies...)
}

// BenchmarkMutexContended is 8 clients that want one mutex and give others a chance
// while they hold it; BenchmarkMutexRush is without that. An operation is one turn of one client.
// The rival is measured with all processors and with one, which is what the fibers have.
func BenchmarkMutexContended(b *testing.B) {
	benchContended(b, sched.Yield, runtime.Gosched)
}

func BenchmarkMutexRush(b *testing.B) {
	benchContended(b, func() {}, func() {})
}

func benchContended(b *testing.B, inFiber, inGoroutine func()) {
	benchCompany(b, func(b *testing.B, together func(bodies ...func())) {
		contend(b, together, &fibersync.Mutex{}, inFiber)
	})
	schedtest.BenchOn(b, []int{2}, func(b *testing.B, s *sched.Scheduler) {
		contend(b, func(bodies ...func()) {
			startTogether(bodies, func(f func()) { schedtest.Enqueue(b, s, f) })
		}, &fibersync.Mutex{}, inFiber)
	})
	benchRival(b, func(b *testing.B, together func(bodies ...func())) {
		contend(b, together, &sync.Mutex{}, inGoroutine)
	})
	b.Run("one-processor", func(b *testing.B) {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
		benchRival(b, func(b *testing.B, together func(bodies ...func())) {
			contend(b, together, &sync.Mutex{}, inGoroutine)
		})
	})
	b.Run("fibersync", func(b *testing.B) {
		benchRival(b, func(b *testing.B, together func(bodies ...func())) {
			contend(b, together, &fibersync.Mutex{}, inGoroutine)
		})
	})
}
