package sched_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

// A wait whose predicate holds does not block, with or without a deadline.
func TestWaitPredicateHolds(t *testing.T) {
	suite.EachScheduler(t, suite.AnyWorkers, func(t *testing.T, s *sched.Scheduler) {
		schedtest.Perform(t, s, func() {
			f := sched.Current()
			var mu sync.Mutex
			calls := 0
			pred := func() bool {
				calls++
				assert.False(t, mu.TryLock(), "the predicate is called with the lock held")
				return true
			}
			mu.Lock()
			f.Wait(&mu, pred)
			assert.False(t, mu.TryLock(), "Wait returns with the lock held")
			assert.True(t, f.WaitFor(&mu, 0, pred))
			assert.True(t, f.WaitFor(&mu, -time.Hour, pred))
			assert.True(t, f.WaitFor(&mu, time.Hour, pred))
			assert.True(t, f.WaitUntil(&mu, time.Now(), pred))
			mu.Unlock()
			assert.Equal(t, 5, calls)
			assert.True(t, f.WaitFor(nil, 0, func() bool { return true }))
		})
	})
}

// A wait goes on until its predicate holds: notifications that come too early only
// make it look.
func TestWaitPredicate(t *testing.T) {
	suite.EachScheduler(t, suite.AnyWorkers, func(t *testing.T, s *sched.Scheduler) {
		const early = 5
		var mu sync.Mutex
		var f *sched.Fiber
		var ready bool
		looks := 0
		begun, over := schedtest.NewLatch(1), schedtest.NewLatch(1)
		looked := make([]*schedtest.Latch, early+1)
		for i := range looked {
			looked[i] = schedtest.NewLatch(1)
		}
		schedtest.Schedule(t, s, func() {
			mu.Lock()
			f = sched.Current()
			begun.Done()
			f.Wait(&mu, func() bool {
				assert.False(t, mu.TryLock())
				if looks > 0 && !ready {
					looked[looks-1].Done()
				}
				looks++
				return ready
			})
			assert.False(t, mu.TryLock())
			assert.True(t, ready)
			mu.Unlock()
			over.Done()
		})
		begun.Wait()
		for i := range early {
			mu.Lock()
			f.Notify()
			mu.Unlock()
			looked[i].Wait()
		}
		mu.Lock()
		assert.Equal(t, 1+early, looks)
		ready = true
		f.Notify()
		mu.Unlock()
		over.Wait()
		assert.Equal(t, 2+early, looks)
	})
}

// Two fibers take turns by a lock whose Unlock wakes other fibers, or may: a third one waits in its queue.
func TestWaitWithALockThatWakesFibers(t *testing.T) {
	locks := map[string]func() (lock sync.Locker, other sync.Locker){
		"mutex":   func() (sync.Locker, sync.Locker) { m := &fibersync.Mutex{}; return m, m },
		"rwmutex": func() (sync.Locker, sync.Locker) { m := &fibersync.RWMutex{}; return m, m.RLocker() },
		"go":      func() (sync.Locker, sync.Locker) { m := &sync.RWMutex{}; return m, noLock{} },
	}
	suite.EachScheduler(t, suite.AnyWorkers, func(t *testing.T, s *sched.Scheduler) {
		for name, make := range locks {
			turns := suite.Scaled(100, 20)
			lock, other := make()
			var fibers [2]*sched.Fiber
			turn := 0
			here, over := schedtest.NewLatch(2), schedtest.NewLatch(3)
			for i := range fibers {
				schedtest.Schedule(t, s, func() {
					defer over.Done()
					me := sched.Current()
					fibers[i] = me
					here.Done()
					here.Wait()
					lock.Lock()
					for range turns {
						wait := func() { me.Wait(lock, func() bool { return turn%2 == i }) }
						if i == 1 {
							wait = func() { assert.True(t, me.WaitFor(lock, time.Hour, func() bool { return turn%2 == i })) }
						}
						wait()
						turn++
						fibers[1-i].Notify()
					}
					lock.Unlock()
				})
			}
			schedtest.Schedule(t, s, func() {
				defer over.Done()
				for range turns {
					other.Lock()
					sched.Yield()
					other.Unlock()
					sched.Yield()
				}
			})
			over.Wait()
			assert.Equal(t, 2*turns, turn, name)
		}
	})
}

// noLock is none.
type noLock struct{}

func (noLock) Lock() {}

func (noLock) Unlock() {}

// Without a predicate one notification ends the wait.
func TestWaitWithoutPredicate(t *testing.T) {
	suite.EachScheduler(t, suite.AnyWorkers, func(t *testing.T, s *sched.Scheduler) {
		for _, deadline := range []bool{false, true} {
			var mu sync.Mutex
			var f *sched.Fiber
			begun, over := schedtest.NewLatch(1), schedtest.NewLatch(1)
			schedtest.Schedule(t, s, func() {
				mu.Lock()
				f = sched.Current()
				begun.Done()
				if deadline {
					assert.True(t, f.WaitFor(&mu, time.Hour, nil))
				} else {
					f.Wait(&mu, nil)
				}
				assert.False(t, mu.TryLock())
				mu.Unlock()
				over.Done()
			})
			begun.Wait()
			mu.Lock()
			f.Notify()
			mu.Unlock()
			over.Wait()
		}
	})
}

// A deadline that passes ends a wait, not before its time.
func TestWaitDeadline(t *testing.T) {
	suite.EachScheduler(t, suite.AnyWorkers, func(t *testing.T, s *sched.Scheduler) {
		schedtest.Perform(t, s, func() {
			f := sched.Current()
			var mu sync.Mutex
			mu.Lock()
			defer mu.Unlock()
			never := func() bool { return false }
			for _, d := range []time.Duration{-time.Hour, 0, 1, time.Microsecond, 3 * time.Millisecond} {
				for _, pred := range []func() bool{nil, never} {
					began := time.Now()
					assert.False(t, f.WaitFor(&mu, d, pred))
					assert.GreaterOrEqual(t, time.Since(began), d)
					until := time.Now().Add(d)
					assert.False(t, f.WaitUntil(&mu, until, pred))
					assert.False(t, time.Now().Before(until))
					began = time.Now()
					assert.False(t, f.WaitUntil(&mu, began.Add(d).Round(0), pred))
					assert.GreaterOrEqual(t, time.Since(began), d/2-time.Microsecond,
						"the wall clock may go a bit faster, and is read a moment earlier")
					assert.False(t, mu.TryLock())
				}
			}
			assert.False(t, f.WaitFor(nil, time.Microsecond, nil))
		})
	})
}

// A predicate that has come true when the deadline passes counts.
func TestWaitPredicateAtDeadline(t *testing.T) {
	suite.EachScheduler(t, suite.AnyWorkers, func(t *testing.T, s *sched.Scheduler) {
		schedtest.Perform(t, s, func() {
			looks := 0
			assert.True(t, sched.Current().WaitFor(nil, time.Millisecond, func() bool {
				looks++
				return looks > 1
			}))
			assert.Equal(t, 2, looks)
		})
	})
}

// A notification in time makes a wait with a deadline succeed.
func TestWaitNotifiedBeforeDeadline(t *testing.T) {
	suite.EachScheduler(t, suite.AnyWorkers, func(t *testing.T, s *sched.Scheduler) {
		var mu sync.Mutex
		var f *sched.Fiber
		ready := false
		begun, over := schedtest.NewLatch(1), schedtest.NewLatch(1)
		schedtest.Schedule(t, s, func() {
			mu.Lock()
			f = sched.Current()
			begun.Done()
			assert.True(t, f.WaitFor(&mu, time.Hour, func() bool { return ready }))
			mu.Unlock()
			over.Done()
		})
		begun.Wait()
		mu.Lock()
		assert.Equal(t, sched.Waiting, f.State())
		ready = true
		f.Notify()
		mu.Unlock()
		over.Wait()
	})
}
