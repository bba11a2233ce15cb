package sched_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/sched/park"
	"fiberlab/tests/internal/check"
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

// lockThat is a lock with such an unlocking, held by the caller.
func lockThat(then func()) *unlocking {
	u := &unlocking{then: then}
	u.Lock()
	return u
}

// An Unlock that notifies the fiber which is about to wait ends the wait, even if others do so as well.
func TestWaitWithALockWhoseUnlockNotifies(t *testing.T) {
	suite.EachScheduler(t, suite.AnyWorkers, func(t *testing.T, s *sched.Scheduler) {
		schedtest.Perform(t, s, func() {
			me := sched.Current()
			for range suite.Scaled(200, 20) {
				lock := lockThat(me.Notify)
				me.Wait(lock, nil)
				lock.Mutex.Unlock()

				var others sync.WaitGroup
				lock = lockThat(func() {
					others.Add(1)
					go func() { defer others.Done(); me.Notify() }()
					me.Notify()
				})
				assert.True(t, me.WaitFor(lock, schedtest.Standstill, nil))
				lock.Mutex.Unlock()
				others.Wait()
			}
		})
	})
}

// An Unlock that blocks the fiber which is about to wait panics, with the fiber's name and the remedy. A fiber whose
// program recovers from that can wait as before, whether the wait was ended in Unlock or not.
func TestWaitWithALockWhoseUnlockBlocks(t *testing.T) {
	suite.EachScheduler(t, suite.AnyWorkers, func(t *testing.T, s *sched.Scheduler) {
		schedtest.Perform(t, s, func() {
			me := sched.Current()
			for name, block := range map[string]func(){
				"Wait":    func() { me.Wait(nil, nil) },
				"WaitFor": func() { me.WaitFor(new(sync.RWMutex), time.Hour, nil) },
				"Sleep":   func() { sched.Sleep(time.Hour) },
				"Yield":   sched.Yield,
				"Park":    func() { park.Current().Park(time.Time{}) },
				"Call":    func() { fibersync.BlockingCall(func() { assert.Fail(t, "it is called") }) },
				"On":      func() { _ = fibersync.On(s, func() { assert.Fail(t, "it is called") }) },
				"Parallelize": func() {
					called := func() { assert.Fail(t, "it is called") }
					fibersync.Parallelize(called, called)
				},
			} {
				for _, then := range []func(){func() { block(); me.Notify() }, func() { me.Notify(); block() }} {
					lock := lockThat(then)
					check.PanicsWith(t, sched.ErrInWait, func() {
						defer func() {
							cause := recover()
							assert.Contains(t, fmt.Sprint(cause), me.String(), name)
							panic(cause)
						}()
						me.Wait(lock, nil)
					})
					assert.Equal(t, sched.Running, me.State(), name)
					assert.True(t, lock.TryLock(), "it has been released")
					lock.Mutex.Unlock()
					assert.False(t, me.WaitFor(nil, time.Millisecond, nil), name)
				}
			}
		})
	})
}

// An Unlock that panics, or ends its goroutine, leaves a fiber that can wait in a deferred call.
func TestWaitWithALockWhoseUnlockPanics(t *testing.T) {
	suite.EachScheduler(t, suite.AnyWorkers, func(t *testing.T, s *sched.Scheduler) {
		schedtest.Perform(t, s, func() {
			me := sched.Current()
			defer func() {
				assert.Equal(t, "its own", recover())
				assert.False(t, me.WaitFor(nil, time.Millisecond, nil))
			}()
			me.Wait(lockThat(func() { panic("its own") }), nil)
		})
	})
}
