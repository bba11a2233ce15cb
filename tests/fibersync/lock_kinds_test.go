package fibersync_test

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"

	"fiberlab/sched/fibersync"
	"fiberlab/tests/internal/suite"
)

// lockKind is a lock of one kind and the ways to hold it. Its holders have, at any time, no more than limit of
// it together; a way that has all of it excludes all others.
type lockKind struct {
	limit  int64
	ways   []lockWay
	isFree func() bool
}

type lockWay struct {
	weight      int64
	lock        func()
	lockContext func(ctx context.Context) error
	unlock      func()
}

func (k *lockKind) anyWay(rng *rand.Rand) lockWay { return k.ways[rng.IntN(len(k.ways))] }

var lockKinds = map[string]func() *lockKind{
	"Mutex": func() *lockKind {
		m := &fibersync.Mutex{}
		return &lockKind{limit: 1, ways: []lockWay{{1, m.Lock, m.LockContext, m.Unlock}}, isFree: m.TryLock}
	},
	"RWMutex": func() *lockKind {
		m := &fibersync.RWMutex{}
		return &lockKind{limit: 100, isFree: m.TryLock, ways: []lockWay{
			{100, m.Lock, m.LockContext, m.Unlock},
			{1, m.RLock, m.RLockContext, m.RUnlock},
		}}
	},
	"Semaphore": func() *lockKind {
		const units = 3
		s := fibersync.NewSemaphore(units)
		k := &lockKind{limit: units, isFree: func() bool { return s.TryAcquire(units) }}
		for n := int64(1); n <= units; n++ {
			k.ways = append(k.ways, lockWay{
				n,
				func() { s.Acquire(n) },
				func(ctx context.Context) error { return s.AcquireContext(ctx, n) },
				func() { s.Release(n) },
			})
		}
		return k
	},
}

// lockCheck counts the holders.
type lockCheck struct {
	kind      *lockKind
	in, wrong atomic.Int64
	alone     int // is changed by exclusive holders: the race detector reports two at once
}

// turn has the caller, which holds the lock in that way, be in and go out again. It lets others go first inside if
// between is not nil.
func (x *lockCheck) turn(way lockWay, between func()) {
	if x.in.Add(way.weight) > x.kind.limit {
		x.wrong.Add(1)
	}
	if way.weight == x.kind.limit {
		x.alone++
	}
	if between != nil {
		between()
	}
	x.in.Add(-way.weight)
	way.unlock()
}

func (x *lockCheck) over(t *testing.T) {
	t.Helper()
	assert.Zero(t, x.wrong.Load(), "times that more were in than may be")
	assert.True(t, x.kind.isFree(), "the lock is free again")
}

// Contexts end while clients pass a lock on. A caller that is told that it has the lock has it. In the end the lock is
// free and no client waits.
func TestLockStormOfCancels(t *testing.T) {
	for name, kind := range lockKinds {
		t.Run(name, func(t *testing.T) {
			eachCompany(t, func(c *company) {
				rng := suite.NewRand(c.t)
				for range suite.Scaled(30, 10) {
					x := &lockCheck{kind: kind()}
					ctx, cancel := context.WithCancel(context.Background())
					startClients(c, rng, 8, func(_ int, rng *rand.Rand) {
						for range 4 {
							if way := x.kind.anyWay(rng); rng.IntN(2) == 0 {
								way.lock()
								x.turn(way, pause)
							} else if way.lockContext(ctx) == nil {
								x.turn(way, pause)
							}
						}
					})
					c.start(cancel)
					c.wait()
					x.over(c.t)
				}
			})
		})
	}
}

// Here no client lets others go first, and contexts are over from the start. So what happens between two looks at a
// lock happens often where there are several threads. For example, a waiter is let out of the wait queue when it is
// about to leave it.
func TestLockRushWithContextsThatAreOver(t *testing.T) {
	over, cancel := context.WithCancel(context.Background())
	cancel()
	for name, kind := range lockKinds {
		t.Run(name, func(t *testing.T) {
			eachCompany(t, func(c *company) {
				rng := suite.NewRand(c.t)
				rounds := suite.Scaled(3000, 300)
				x := &lockCheck{kind: kind()}
				startClients(c, rng, 4, func(_ int, rng *rand.Rand) {
					for range rounds {
						if way := x.kind.anyWay(rng); rng.IntN(2) == 0 {
							way.lock()
							x.turn(way, nil)
						} else if way.lockContext(over) == nil {
							x.turn(way, nil)
						}
					}
				})
				c.wait()
				x.over(c.t)
			})
		})
	}
}

func TestLocksAllocateNothing(t *testing.T) {
	for name, kind := range lockKinds {
		t.Run(name, func(t *testing.T) {
			for _, way := range kind().ways {
				assert.Zero(t, testing.AllocsPerRun(100, func() {
					way.lock()
					way.unlock()
				}), "weight %d", way.weight)
			}
		})
	}
}
