package sched_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"fiberlab/sched"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

// busyPair keeps its worker busy with two fibers that wake one another until stop
// holds. It must be called in a task; over is told when each has ended.
func busyPair(t *testing.T, s *sched.Scheduler, stop func() bool, over *schedtest.Latch) {
	var fibers [2]*sched.Fiber
	for i := range fibers {
		schedtest.ScheduleHere(t, s, func() {
			defer over.Done()
			fibers[i] = sched.Current()
			for !stop() {
				if other := fibers[1-i]; other != nil {
					other.Notify()
				}
				if stop() {
					break
				}
				if fibers[1-i] == nil {
					sched.Yield()
					continue
				}
				fibers[i].Wait(nil, nil)
			}
			if other := fibers[1-i]; other != nil { // nil: it has not begun, and will find that stop holds
				other.Notify()
			}
		})
	}
}

// Two fibers that wake one another without end keep neither a task, pinned or not, nor a deadline, nor a notification
// from outside from having its turn.
func TestBusyPairDoesNotStarveOthers(t *testing.T) {
	suite.EachScheduler(t, suite.OneThread, func(t *testing.T, s *sched.Scheduler) {
		stopped := false // on one thread
		over := schedtest.NewLatch(3)
		schedtest.Schedule(t, s, func() {
			defer over.Done()
			busyPair(t, s, func() bool { return stopped }, over)
			others := schedtest.NewLatch(3)
			sched.Sleep(time.Millisecond)
			schedtest.Schedule(t, s, others.Done)
			schedtest.ScheduleHere(t, s, others.Done)
			p := schedtest.NewSleeper()
			schedtest.ScheduleHere(t, s, func() {
				p.Task()
				others.Done()
			})
			go p.Wake()
			others.Wait()
			stopped = true
		})
		over.Wait()
		assert.True(t, stopped)
	})
}

// A fiber that another thread has notified, or whose deadline has passed, goes on after few turns of two fibers that
// wake one another.
func TestBusyPairLetsOthersInSoon(t *testing.T) {
	const before, most = 10, 8
	suite.EachScheduler(t, suite.OneThread, func(t *testing.T, s *sched.Scheduler) {
		trial := func(wait func(guest *sched.Fiber), end func(guest *sched.Fiber)) (turns int) {
			over := schedtest.NewLatch(3)
			var guest *sched.Fiber
			wentOn := false
			schedtest.ScheduleHere(t, s, func() {
				defer over.Done()
				guest = sched.Current()
				wait(guest)
				wentOn = true
			})
			busyPair(t, s, func() bool {
				if turns++; turns == before {
					end(guest)
				}
				return wentOn
			}, over)
			over.Wait()
			return turns - before
		}
		schedtest.Perform(t, s, func() {
			for range 5 {
				assert.LessOrEqual(
					t,
					trial(func(guest *sched.Fiber) { guest.Wait(nil, nil) }, func(guest *sched.Fiber) {
						done := make(chan struct{})
						go func() {
							guest.Notify()
							close(done)
						}()
						<-done
					}),
					most, "turns after the notification",
				)
				assert.LessOrEqual(
					t,
					trial(func(guest *sched.Fiber) { guest.WaitFor(nil, time.Millisecond, nil) }, func(*sched.Fiber) {
						time.Sleep(2 * time.Millisecond)
					}),
					most, "turns after the deadline",
				)
			}
		})
	})
}

// Fibers that only yield do not keep out tasks from outside, nor one another.
func TestYieldersDoNotStarveOthers(t *testing.T) {
	suite.EachScheduler(t, []int{1, 2}, func(t *testing.T, s *sched.Scheduler) {
		const yielders = 5
		begun, over := schedtest.NewLatch(yielders), schedtest.NewLatch(yielders)
		stop := schedtest.NewLatch(1)
		for range yielders {
			schedtest.Schedule(t, s, func() {
				begun.Done()
				for !stop.IsOpen() {
					sched.Yield()
				}
				over.Done()
			})
		}
		begun.Wait()
		schedtest.Perform(t, s, func() { sched.Sleep(time.Millisecond) })
		stop.Done()
		over.Wait()
	})
}

// Fibers that only yield do not keep a pinned fiber, which yields as well, from going on.
func TestYieldersDoNotStarvePinnedFiber(t *testing.T) {
	suite.EachScheduler(t, suite.OneThread, func(t *testing.T, s *sched.Scheduler) {
		const yielders, pinnedTurns, most = 5, 100, 100_000
		turns, stop := 0, false // on one thread
		over := schedtest.NewLatch(yielders + 2)
		schedtest.Schedule(t, s, func() {
			defer over.Done()
			for range yielders {
				schedtest.Schedule(t, s, func() {
					defer over.Done()
					for turns < most && !stop {
						turns++
						sched.Yield()
					}
				})
			}
			schedtest.ScheduleHere(t, s, func() {
				defer over.Done()
				for range pinnedTurns {
					sched.Yield()
				}
				stop = true
			})
		})
		over.Wait()
		assert.Less(t, turns, most, "turns of the others until the pinned fiber had %d", pinnedTurns)
	})
}

// Tasks that schedule themselves again without end keep neither tasks from outside nor deadlines from having their
// turn.
func TestEndlessTasksDoNotStarveOthers(t *testing.T) {
	suite.EachScheduler(t, []int{1, 2, 4}, func(t *testing.T, s *sched.Scheduler) {
		stop := schedtest.NewLatch(1)
		chains := s.Stats().Fibers
		over := schedtest.NewLatch(chains)
		for range chains {
			var again func()
			again = func() {
				if stop.IsOpen() {
					over.Done()
					return
				}
				schedtest.ScheduleHere(t, s, again)
			}
			schedtest.Schedule(t, s, again)
		}
		for range 5 {
			schedtest.Perform(t, s, func() { sched.Sleep(100 * time.Microsecond) })
		}
		stop.Done()
		over.Wait()
	})
}

// Tasks that come from outside one by one, each before the last has ended, do not keep a
// pinned one from its turn.
func TestTrickleStarvesNoPinnedTask(t *testing.T) {
	suite.EachScheduler(t, []int{1}, func(t *testing.T, s *sched.Scheduler) {
		const most = 100
		feed, fed := make(chan struct{}), make(chan struct{})
		pinned, over := schedtest.NewLatch(1), schedtest.NewLatch(1)
		begun := 0
		trickle := func() {
			begun++
			if pinned.IsOpen() || begun == most {
				assert.True(t, pinned.IsOpen(), "%d tasks have been begun before the pinned one", begun)
				over.Done()
				return
			}
			feed <- struct{}{}
			<-fed
		}
		schedtest.Schedule(t, s, func() {
			schedtest.ScheduleHere(t, s, pinned.Done)
			feed <- struct{}{}
			<-fed
		})
		for done := false; !done; {
			select {
			case <-feed:
				schedtest.Schedule(t, s, trickle)
				fed <- struct{}{}
			case <-over.Opened():
				done = true
			}
		}
	})
}
