package campus

import (
	"math/rand/v2"
	"sync/atomic"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/sched/fibersync"
)

// mutexStation: a counter that only the mutex guards is exact.
type mutexStation struct {
	mu      fibersync.Mutex
	counter int64
	entries atomic.Int64
}

func (p *mutexStation) enter(rng *rand.Rand) {
	switch rng.IntN(4) {
	case 0:
		if !p.mu.TryLock() {
			return
		}
	case 1:
		ctx, cancel := hurry(rng)
		defer cancel()
		if p.mu.LockContext(ctx) != nil {
			return
		}
	default:
		p.mu.Lock()
	}
	before := p.counter
	dither(rng)
	p.counter = before + 1
	p.mu.Unlock()
	p.entries.Add(1)
}

func (p *mutexStation) check(t require.TestingT) {
	assert.True(t, p.mu.TryLock(), "the mutex is held")
	assert.Equal(t, p.entries.Load(), p.counter, "times that the mutex was held")
}

// rwmutexStation: readers find two counters equal, which writers count one after the other.
type rwmutexStation struct {
	x           *Campus
	mu          fibersync.RWMutex
	first, last int64
	writes      atomic.Int64
}

func (p *rwmutexStation) enter(rng *rand.Rand) {
	ctx, cancel := hurry(rng)
	defer cancel()
	if rng.IntN(3) > 0 {
		if p.mu.RLockContext(ctx) != nil {
			return
		}
		before := p.last
		dither(rng)
		assert.Equal(p.x.t, before, p.first, "a writer beside a reader")
		p.mu.RUnlock()
		return
	}
	if p.mu.LockContext(ctx) != nil {
		return
	}
	p.first++
	dither(rng)
	p.last++
	p.mu.Unlock()
	p.writes.Add(1)
}

func (p *rwmutexStation) check(t require.TestingT) {
	assert.True(t, p.mu.TryLock(), "the lock is held")
	assert.Equal(t, p.writes.Load(), p.first, "times that the lock was held for writing")
	assert.Equal(t, p.writes.Load(), p.last)
}

const semaphoreStationUnits = 5

// semaphoreStation: no more units are out than there are, and in the end none.
type semaphoreStation struct {
	x         *Campus
	semaphore *fibersync.Semaphore
	out       atomic.Int64
}

func newSemaphoreStation(x *Campus) station {
	return &semaphoreStation{x: x, semaphore: fibersync.NewSemaphore(semaphoreStationUnits)}
}

func (p *semaphoreStation) enter(rng *rand.Rand) {
	n := 1 + rng.Int64N(4)
	ctx, cancel := hurry(rng)
	defer cancel()
	if rng.IntN(4) == 0 {
		if !p.semaphore.TryAcquire(n) {
			return
		}
	} else if p.semaphore.AcquireContext(ctx, n) != nil {
		return
	}
	assert.LessOrEqual(p.x.t, p.out.Add(n), int64(semaphoreStationUnits), "units that are out")
	dither(rng)
	p.out.Add(-n)
	p.semaphore.Release(n)
}

func (p *semaphoreStation) check(t require.TestingT) {
	assert.True(t, p.semaphore.TryAcquire(semaphoreStationUnits), "units are not back")
}
