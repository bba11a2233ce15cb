package sched_test

import (
	"sync"
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
				assert.True(t, me.WaitFor(lock, 10*time.Second, nil), name)
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
