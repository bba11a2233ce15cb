package sched_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

// A fiber that may migrate goes on when its deadline has come, although the worker on which it has blocked is held by
// another task.
func TestDeadlineWhileTheWorkerIsHeld(t *testing.T) {
	migrates := func(cfg sched.Config) bool { return suite.Migrates(cfg.Policy) }
	suite.Over{Workers: suite.SeveralWorkers, Only: migrates}.Run(t, func(t *testing.T, cfg sched.Config) {
		suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			for _, wait := range []func(){
				func() { assert.False(t, sched.Current().WaitFor(nil, time.Millisecond, nil)) },
				func() { sched.Sleep(time.Millisecond) },
			} {
				schedtest.Perform(t, s, func() {
					// On a slow machine the deadline may have come before the worker is held: then it is tried again.
					inTime := false
					for end := time.Now().Add(schedtest.Standstill); !inTime && time.Now().Before(end); {
						blockedOn := sched.Current().Worker()
						wentOn, released := make(chan struct{}), schedtest.NewLatch(1)
						var held atomic.Bool
						schedtest.ScheduleHere(t, s, func() {
							defer released.Done()
							held.Store(true)
							select {
							case <-wentOn:
							case <-time.After(schedtest.Standstill):
								t.Errorf("no other worker has seen to the deadline within %v", schedtest.Standstill)
							}
						})
						wait()
						if inTime = held.Load(); inTime && blockedOn == sched.Current().Worker() {
							t.Errorf("the fiber goes on on %v, which another task holds", blockedOn)
						}
						close(wentOn)
						released.Wait()
					}
					assert.True(t, inTime, "each deadline has come before the worker was held")
				})
			}
		})
	})
}

// With nothing else to do, all workers sleep until the earliest deadline. It comes whichever of them
// watches it.
func TestDeadlinesAloneWakeSleepingWorkers(t *testing.T) {
	suite.EachScheduler(t, suite.SomeWorkers, func(t *testing.T, s *sched.Scheduler) {
		var progress atomic.Uint64
		state := func() string { return fmt.Sprint(progress.Load(), " waits are over") }
		random := suite.NewRand(t)
		const fibers = 3
		over := schedtest.NewLatch(fibers)
		for range fibers {
			r := rand.New(rand.NewPCG(random.Uint64(), 0))
			schedtest.Schedule(t, s, func() {
				defer over.Done()
				for range suite.Scaled(500, 100) {
					sched.Sleep(time.Duration(r.IntN(300)) * time.Microsecond)
					progress.Add(1)
				}
			})
		}
		schedtest.Watch(t, schedtest.Watched{Scheduler: s, Progress: &progress, State: state}, over.Wait)
	})
}

// timedWaiter is a fiber that waits with deadlines, and what others have done to it.
type timedWaiter struct {
	fiber  *sched.Fiber
	waits  atomic.Bool   // for a notification
	sent   atomic.Uint64 // notifications
	heard  uint64        // waits that have ended by one
	cancel atomic.Pointer[context.CancelCauseFunc]
}

// reach is how far ahead deadlines lie: some are over, some come during the test, some never.
func reach(r *rand.Rand) time.Duration {
	switch r.IntN(4) {
	case 0:
		return time.Hour
	case 1:
		return -time.Duration(r.IntN(3)) * time.Microsecond
	}
	return time.Duration(r.IntN(400)) * time.Microsecond
}

// Many fibers wait with deadlines, while others notify them and cancel their contexts. A wait ends by its deadline not
// before that has come; it ends otherwise only if another has ended it; and it does end.
func TestTimedWaitsAgainstModel(t *testing.T) {
	suite.EachScheduler(t, []int{1, 2, 4, 64}, func(t *testing.T, s *sched.Scheduler) {
		waiters := make([]timedWaiter, suite.Scaled(100, 30))
		rounds := suite.Scaled(200, 40)
		random := suite.NewRand(t)
		var progress atomic.Uint64
		state := func() string { return fmt.Sprint(progress.Load(), " waits are over") }
		errEnded := errors.New("another fiber has cancelled it")
		var left atomic.Int64
		left.Store(int64(len(waiters)))
		begun, over := schedtest.NewLatch(len(waiters)), schedtest.NewLatch(len(waiters)+1)
		for i := range waiters {
			r := rand.New(rand.NewPCG(random.Uint64(), 0))
			schedtest.Schedule(t, s, func() {
				defer over.Done()
				defer left.Add(-1)
				me := &waiters[i]
				me.fiber = sched.Current()
				begun.Done()
				begun.Wait()
				for range rounds {
					if r.IntN(3) == 0 {
						me.sleep(t, reach(r), errEnded)
					} else {
						me.wait(t, reach(r))
					}
					waiters[r.IntN(len(waiters))].end(errEnded)
					progress.Add(1)
				}
			})
		}
		// Those with an hour ahead may be all that is left.
		schedtest.Schedule(t, s, func() {
			defer over.Done()
			begun.Wait()
			for left.Load() > 0 {
				for i := range waiters {
					waiters[i].end(errEnded)
				}
				sched.Sleep(100 * time.Microsecond)
			}
		})
		schedtest.Watch(t, schedtest.Watched{Scheduler: s, Progress: &progress, State: state}, over.Wait)
		assert.EqualValues(t, len(waiters)*rounds, progress.Load())
	})
}

// wait is one timed wait for a notification.
func (w *timedWaiter) wait(t *testing.T, d time.Duration) {
	deadline := time.Now().Add(d)
	w.waits.Store(true)
	notified := w.fiber.WaitUntil(nil, deadline, nil)
	w.waits.Store(false)
	if notified {
		w.heard++
	}
	switch sent := w.sent.Load(); {
	case w.heard > sent:
		t.Errorf(
			"%d waits ended as if notified, after %d notifications; this one %v before its deadline", w.heard, sent,
			time.Until(deadline),
		)
	case !notified && time.Now().Before(deadline):
		t.Errorf("a wait of %v timed out %v too early", d, time.Until(deadline))
	}
}

// sleep is one sleep with a context.
func (w *timedWaiter) sleep(t *testing.T, d time.Duration, errEnded error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	w.cancel.Store(&cancel)
	began := time.Now()
	switch err := fibersync.Sleep(ctx, d); {
	case err == nil && time.Since(began) < d:
		t.Errorf("a sleep of %v ended after %v", d, time.Since(began))
	case err != nil && (!errors.Is(err, errEnded) || !errors.Is(context.Cause(ctx), errEnded)):
		t.Errorf("a sleep ended with %v; the cause was %v", err, context.Cause(ctx))
	}
	w.cancel.Store(nil)
}

// end ends the wait that w may be in.
func (w *timedWaiter) end(cause error) {
	if cancel := w.cancel.Load(); cancel != nil {
		(*cancel)(cause)
	} else if w.waits.Load() {
		w.sent.Add(1)
		w.fiber.Notify()
	}
}
