package fibersync_test

import (
	"sync"
	"testing"

	"fiberlab/sched/fibersync"
)

// BenchmarkRWMutex is one client with an uncontended lock; reading, then writing.
func BenchmarkRWMutex(b *testing.B) {
	rounds := func(lock sync.Locker) func(b *testing.B, together func(bodies ...func())) {
		return func(b *testing.B, together func(bodies ...func())) {
			count := 0
			together(func() {
				for range b.N {
					lock.Lock()
					count++
					lock.Unlock()
				}
			})
		}
	}
	b.Run("read", func(b *testing.B) {
		benchCompany(b, rounds(new(fibersync.RWMutex).RLocker()))
		benchRival(b, rounds(new(sync.RWMutex).RLocker()))
	})
	b.Run("write", func(b *testing.B) {
		benchCompany(b, rounds(new(fibersync.RWMutex)))
		benchRival(b, rounds(new(sync.RWMutex)))
	})
}
