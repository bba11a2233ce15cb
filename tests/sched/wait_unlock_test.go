package sched_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"fiberlab/sched"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

// unlocking is a lock that does something else when it has been released.
type unlocking struct {
	sync.Mutex
	then func()
}

func (u *unlocking) Unlock() {
	u.Mutex.Unlock()
	u.then()
}

// A notification that comes during an Unlock which waits itself ends the wait that Unlock is part of.
func TestWaitWithALockWhoseUnlockWaits(t *testing.T) {
	suite.EachScheduler(t, suite.AnyWorkers, func(t *testing.T, s *sched.Scheduler) {
		schedtest.Perform(t, s, func() {
			me := sched.Current()
			var inner sync.RWMutex // not the kind of lock that a wait releases by itself
			wait := func() {
				inner.Lock()
				assert.False(t, me.WaitFor(&inner, time.Microsecond, nil))
				inner.Unlock()
			}
			never := func() bool { return false }
			for name, then := range map[string]func(){
				"before": func() { me.Notify(); wait() },
				"after":  func() { wait(); me.Notify() },
			} {
				lock := &unlocking{then: then}
				lock.Lock()
				assert.True(t, me.WaitFor(lock, schedtest.Standstill, nil), name)
				lock.Mutex.Unlock()
			}
			lock := &unlocking{then: wait}
			lock.Lock()
			assert.False(t, me.WaitFor(lock, time.Millisecond, nil), "it was not notified")
			assert.False(t, me.WaitFor(lock, time.Millisecond, never))
			lock.Mutex.Unlock()
		})
	})
}

// A fiber that yields in the Unlock of its wait, and goes on when others have run, has not been notified by that.
func TestWaitWithALockWhoseUnlockYields(t *testing.T) {
	suite.EachScheduler(t, suite.OneThread, func(t *testing.T, s *sched.Scheduler) {
		var stop atomic.Bool
		other := schedtest.NewLatch(1)
		schedtest.Perform(t, s, func() {
			me := sched.Current()
			turns := 0
			schedtest.Schedule(t, s, func() {
				defer other.Done()
				for ; !stop.Load(); turns++ {
					sched.Yield()
				}
			})
			yield := func() {
				for before := turns; turns < before+2; {
					sched.Yield()
				}
			}
			lock := &unlocking{then: yield}
			lock.Lock()
			assert.False(t, me.WaitFor(lock, time.Millisecond, nil), "it was not notified")
			lock.Mutex.Unlock()
			lock.then = func() { yield(); me.Notify(); yield() }
			lock.Lock()
			assert.True(t, me.WaitFor(lock, schedtest.Standstill, nil), "it was notified")
			lock.Mutex.Unlock()
			stop.Store(true)
		})
		other.Wait()
	})
}

// A notification that comes when a wait in an Unlock has just ended by its deadline, and the fiber is ready but does
// not run yet, ends the wait that Unlock is part of.
func TestNotifyBetweenAWaitInAnUnlockAndItsReturn(t *testing.T) {
	suite.EachScheduler(t, suite.OneThread, func(t *testing.T, s *sched.Scheduler) {
		var waiter atomic.Pointer[sched.Fiber]
		var done atomic.Bool
		over := schedtest.NewLatch(4)
		waits := func() {
			defer over.Done()
			me := sched.Current()
			var inner sync.RWMutex
			lock := &unlocking{then: func() {
				waiter.Store(me)
				for !done.Load() { // the others may not have begun when the first of these waits ends
					inner.Lock()
					assert.False(t, me.WaitFor(&inner, time.Millisecond, nil))
					inner.Unlock()
				}
			}}
			lock.Lock()
			assert.True(t, me.WaitFor(lock, schedtest.Standstill, nil), "it was notified")
			lock.Mutex.Unlock()
		}
		notifies := func() {
			defer over.Done()
			for !done.Load() {
				if f := waiter.Load(); f != nil && f.State() == sched.Queued {
					f.Notify()
					done.Store(true)
				}
				sched.Yield()
			}
		}
		// The main fiber, which waits here, stays with its worker and would go on before the others saw that it is
		// ready.
		schedtest.Perform(t, s, func() {
			schedtest.Schedule(t, s, waits)
			for range 3 {
				schedtest.Schedule(t, s, notifies)
			}
			over.Wait()
		})
	})
}
