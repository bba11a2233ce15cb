package fibersync_test

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/tests/internal/leaks"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

// lockContext is a Mutex, or an RWMutex for writing.
type lockContext interface {
	Lock()
	Unlock()
	LockContext(ctx context.Context) error
}

// exclusiveLocks make the locks that are handed to one waiter, by name.
var exclusiveLocks = map[string]func() lockContext{
	"Mutex":   func() lockContext { return new(fibersync.Mutex) },
	"RWMutex": func() lockContext { return new(fibersync.RWMutex) },
}

// A task gives a lock up and computes from then on. The first waiter is a fiber of the same worker, and cannot
// run. The others have to get the lock even so: a goroutine, or a fiber of another worker.
func TestLockIsNotKeptForABusyWorker(t *testing.T) {
	for name, newLock := range exclusiveLocks {
		t.Run(name, func(t *testing.T) {
			suite.EachScheduler(t, suite.OneThread, func(t *testing.T, s *sched.Scheduler) {
				other, err := sched.New(sched.Config{Workers: 1})
				if !assert.NoError(t, err) {
					return
				}
				for _, handed := range []bool{false, true} {
					for _, on := range []*sched.Scheduler{nil, other} {
						keepWorkerBusy(&company{t: t, s: s}, newLock(), handed, &company{t: t, s: on})
					}
				}
				assert.NoError(t, other.Close())
			})
		})
	}
}

// All workers of a scheduling group are busy, so that its fibers, the first waiters, do not run; no other group may
// steal them. Then a fiber of another group gets the lock.
func TestLockIsNotKeptForABusyGroup(t *testing.T) {
	for name, newLock := range exclusiveLocks {
		t.Run(name, func(t *testing.T) {
			leaks.Check(t)
			s, err := sched.New(sched.Config{
				Workers: 2, Policy: sched.Group,
				Groups: sched.Groups{Size: 1, StealEvery: func(_, _ int) int { return 0 }},
			})
			require.NoError(t, err)
			for _, handed := range []bool{false, true} {
				in := func(group int) *company {
					return &company{t: t, s: s, enqueue: func(task sched.Task) error {
						return s.EnqueueInGroup(group, task)
					}}
				}
				keepWorkerBusy(in(0), newLock(), handed, in(1))
			}
			assert.NoError(t, s.Close())
		})
	}
}

// keepWorkerBusy does that once with four waiters, the last of them from others. If handed is
// true, the first has been let out in vain before, and is handed the lock now.
func keepWorkerBusy(c *company, l lockContext, handed bool, others *company) {
	var got atomic.Bool
	c.perform(func() {
		l.Lock()
		queueUp(c, 3, context.Background(), func(_ int, ctx context.Context) {
			if assert.NoError(c.t, l.LockContext(ctx)) {
				l.Unlock()
			}
		})
		if handed {
			l.Unlock()
			l.Lock()
			for range 10 {
				sched.Yield() // the woken waiter comes too late, and queues again
			}
		}
		queueUp(others, 1, context.Background(), func(_ int, ctx context.Context) {
			if assert.NoError(c.t, l.LockContext(ctx)) {
				got.Store(true)
				l.Unlock()
			}
		})
		l.Unlock()
		for begun := time.Now(); !got.Load(); {
			if time.Since(begun) > schedtest.Standstill {
				assert.Fail(c.t, "no waiter has got the lock while the worker was busy")
				return
			}
		}
	})
	c.wait()
	others.wait()
}

// Clients on several threads take turns, some compute for longer than a mutex waits for them, some give
// up. What is handed to one and taken back is never with two, and no turn is lost.
func TestMutexStormOfBusyWorkers(t *testing.T) {
	eachCompany(t, func(c *company) {
		const clients = 8
		turns := suite.Scaled(30, 8)
		var m fibersync.Mutex
		var inside, had atomic.Int64
		startClients(c, suite.NewRand(c.t), clients, func(_ int, rng *rand.Rand) {
			for left := turns; left > 0; {
				if rng.IntN(3) == 0 {
					ctx, cancel := lapse(rng)
					err := m.LockContext(ctx)
					cancel()
					if err != nil {
						continue
					}
				} else {
					m.Lock()
				}
				left--
				had.Add(1)
				assert.EqualValues(c.t, 1, inside.Add(1), "clients that have the mutex")
				pause()
				inside.Add(-1)
				m.Unlock()
				if rng.IntN(4) == 0 {
					for begun := time.Now(); time.Since(begun) < 3*time.Millisecond; {
					}
				}
			}
		})
		c.wait()
		assert.EqualValues(c.t, clients*turns, had.Load())
		assert.True(c.t, m.TryLock(), "the lock is free again")
	})
}
