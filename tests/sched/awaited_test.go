package sched_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"fiberlab/internal/debug"
	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/sched/park"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

func lockAndUnlock(l sync.Locker) {
	l.Lock()
	defer l.Unlock()
}

// prompt is a context that fulfils a wait once the waiter is queued, and before it parks.
type prompt struct {
	context.Context
	fulfil func()
}

// Done implements context.Context.
func (p prompt) Done() <-chan struct{} {
	p.fulfil()
	return nil
}

// A report names what each fiber waits for, and in debug builds the fiber that holds it. It does so after a Park that
// took a token, and names nothing that the fiber has waited for before.
func TestReportNamesWhatIsAwaited(t *testing.T) {
	suite.EachConfig(t, suite.AnyWorkers, func(t *testing.T, cfg sched.Config) {
		reports := make(chan *sched.Deadlock, 100)
		cfg.Watchdog = shortLimit
		cfg.Deadlocked = func(d *sched.Deadlock) { reports <- d }
		var mutex fibersync.Mutex
		var rw fibersync.RWMutex
		var latch *fibersync.Latch
		values := fibersync.NewChannel[string](0)
		semaphore := fibersync.NewSemaphore(1)
		cond := fibersync.NewCond(new(fibersync.Mutex))
		holding := schedtest.NewLatch(1)
		var holder string
		waits := []struct {
			call, what string
			held       bool
			wait       func()
		}{
			{"fibersync.(*Mutex).Lock", fmt.Sprintf("the mutex %p", &mutex), true, func() { lockAndUnlock(&mutex) }},
			{"fibersync.(*RWMutex).Lock", "the mutex", true, func() { lockAndUnlock(&rw) }},
			{
				"fibersync.(*RWMutex).RLock", fmt.Sprintf("the mutex %p", &rw), true,
				func() { rw.RLock(); defer rw.RUnlock() },
			},
			{
				"fibersync.(*Channel[...]).Send", fmt.Sprintf("the channel %p of capacity 0", values), false,
				func() { values.Send("") },
			},
			{
				"fibersync.(*Semaphore).Acquire", fmt.Sprintf("the semaphore %p of 1 units", semaphore), false,
				func() { semaphore.Acquire(1) },
			},
			{
				"fibersync.(*Cond).Wait", fmt.Sprintf("the condition %p", cond), false,
				func() { cond.L.Lock(); cond.Wait(); cond.L.Unlock() },
			},
			{"fibersync.(*Latch).Wait", "", false, func() { latch.Wait() }},
		}
		latch = fibersync.NewLatch(1)
		suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			over := schedtest.NewLatch(len(waits) + 1)
			free := schedtest.NewSleeper()
			schedtest.Schedule(t, s, func() {
				mutex.Lock()
				rw.Lock()
				semaphore.Acquire(1)
				holder = sched.Current().String()
				assert.NoError(t, semaphore.AcquireContext(prompt{context.Background(), func() { semaphore.Release(1) }}, 1))
				holding.Done()
				free.Task()
				semaphore.Release(1)
				rw.Unlock()
				mutex.Unlock()
				over.Done()
			})
			holding.Wait()
			for i, w := range waits {
				schedtest.Schedule(t, s, func() {
					if i%2 == 0 { // with a hook the report is the same
						newHook(t)
					}
					park.Current().Unpark()
					w.wait()
					over.Done()
				})
			}
			checked := make(chan struct{})
			go func() {
				defer close(checked)
				var d *sched.Deadlock
				told := make(map[string]sched.FiberReport)
				for len(told) <= len(waits) { // the last one waits for all others
					d = <-reports
					for _, b := range d.Fibers {
						told[b.Call] = b
					}
				}
				for _, w := range waits {
					b, ok := told[w.call]
					if !assert.True(t, ok, "%s is not in %v", w.call, d) {
						continue
					}
					assert.Contains(t, b.For, w.what)
					if w.what == "" {
						assert.Empty(t, b.For)
					}
					if w.held && debug.On {
						assert.Contains(t, b.For, "which "+strings.TrimPrefix(holder, "scheduler ")+" holds")
						assert.Contains(t, d.Error(), b.For)
					}
				}
				assert.Empty(t, told["sched.(*Fiber).Wait"].For, "what the holder waited for before")
				free.Wake()
				_, _ = values.Receive()
				cond.L.Lock()
				cond.Signal()
				cond.L.Unlock()
				latch.CountDown()
			}()
			over.Wait()
			<-checked
		})
	})
}
