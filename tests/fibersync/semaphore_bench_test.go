package fibersync_test

import (
	"context"
	"runtime"
	"testing"

	"golang.org/x/sync/semaphore"

	"fiberlab/sched"
	"fiberlab/sched/fibersync"
)

// semaphoreLocker is a semaphore as contend wants it: Lock acquires one unit.
type semaphoreLocker struct{ *fibersync.Semaphore }

func (s semaphoreLocker) Lock() { s.Acquire(1) }

func (s semaphoreLocker) Unlock() { s.Release(1) }

type semaphoreRival struct{ *semaphore.Weighted }

func (s semaphoreRival) Lock() { _ = s.Acquire(context.Background(), 1) }

func (s semaphoreRival) Unlock() { s.Release(1) }

// BenchmarkSemaphore is one client that finds free units.
func BenchmarkSemaphore(b *testing.B) {
	benchCompany(b, func(b *testing.B, together func(bodies ...func())) {
		s := fibersync.NewSemaphore(2)
		together(func() {
			for range b.N {
				s.Acquire(1)
				s.Release(1)
			}
		})
	})
	benchRival(b, func(b *testing.B, together func(bodies ...func())) {
		s, ctx := semaphore.NewWeighted(2), context.Background()
		together(func() {
			for range b.N {
				_ = s.Acquire(ctx, 1)
				s.Release(1)
			}
		})
	})
}

// BenchmarkSemaphoreContended is 8 clients that want two units and give others a chance
// while they have one. An operation is one turn of one client.
func BenchmarkSemaphoreContended(b *testing.B) {
	benchCompany(b, func(b *testing.B, together func(bodies ...func())) {
		contend(b, together, semaphoreLocker{fibersync.NewSemaphore(2)}, sched.Yield)
	})
	benchRival(b, func(b *testing.B, together func(bodies ...func())) {
		contend(b, together, semaphoreRival{semaphore.NewWeighted(2)}, runtime.Gosched)
	})
}
