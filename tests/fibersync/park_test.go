package fibersync_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"fiberlab/internal/release"
	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/sched/park"
	"fiberlab/tests/internal/check"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

// parker is the caller as a park.Parker.
func parker() park.Parker {
	if p := park.Current(); p != nil {
		return p
	}
	return park.NewGoroutine()
}

func TestParkKeepsOneUnpark(t *testing.T) {
	eachCompany(t, func(c *company) {
		for range 4 {
			c.start(func() {
				p := parker()
				p.Unpark()
				p.Unpark()
				p.Park(time.Time{}) // for ever if it were not kept
				before := time.Now()
				for time.Since(before) < time.Millisecond {
					p.Park(before.Add(time.Millisecond)) // may return early, and returns without an Unpark
				}
			})
		}
	})
}

// Each waits for its turn in a ring; a turn that is lost stops the ring.
func TestParkRingLosesNoUnpark(t *testing.T) {
	eachCompany(t, func(c *company) {
		const members = 5
		rounds := int64(suite.Scaled(500, 50))
		var ring [members]atomic.Pointer[park.Parker]
		var turn atomic.Int64
		for i := range int64(members) {
			c.start(func() {
				me := parker()
				ring[i].Store(&me)
				for round := range rounds {
					for turn.Load() != round*members+i {
						me.Park(time.Time{})
					}
					turn.Add(1)
					next := ring[(i+1)%members].Load()
					for ; next == nil; next = ring[(i+1)%members].Load() {
						pause()
					}
					(*next).Unpark()
				}
			})
		}
		c.wait()
		assert.Equal(c.t, members*rounds, turn.Load())
	})
}

// Two threads unpark a third, often at the same moment, so that the second Unpark adds nothing. If the third did not
// see what that second one has stored, all three would wait without end.
func TestParkSeesWhatWasStoredBeforeAnUnpark(t *testing.T) {
	eachCompany(t, func(c *company) {
		rounds := uint64(suite.Scaled(1500, 50))
		var clients [3]park.Parker
		var stored [3]atomic.Uint64 // the third one's is the round that it has seen the others end
		var here fibersync.WaitGroup
		here.Add(len(clients))
		for i := range clients {
			c.start(func() {
				me := parker()
				clients[i] = me
				here.Done()
				here.Wait()
				for round := uint64(1); round <= rounds; round++ {
					if i < 2 {
						release.Store(&stored[i], round)
						clients[2].Unpark()
						for stored[2].Load() < round {
							me.Park(time.Time{})
						}
						continue
					}
					for stored[0].Load() < round || stored[1].Load() < round {
						me.Park(time.Time{})
					}
					release.Store(&stored[2], round)
					clients[0].Unpark()
					clients[1].Unpark()
				}
			})
		}
		c.wait()
		assert.Equal(c.t, rounds, stored[2].Load())
	})
}

func TestParkStartsBesideTheCaller(t *testing.T) {
	eachCompany(t, func(c *company) {
		c.task(func() {
			p, over := parker(), schedtest.NewLatch(1)
			var on atomic.Pointer[sched.Scheduler]
			assert.NoError(c.t, p.Start(func() {
				on.Store(sched.Get())
				over.Done()
			}))
			over.Wait()
			assert.Equal(c.t, c.s, on.Load())
		})
	})
}

func TestParkAndUnparkLeaveOtherWaitsAlone(t *testing.T) {
	suite.EachScheduler(t, suite.OneThread, func(t *testing.T, s *sched.Scheduler) {
		sleeper := schedtest.NewSleeper()
		woken := false
		var parker park.Parker
		schedtest.Schedule(t, s, func() {
			sleeper.Fiber, parker = sched.Current(), park.Current()
			sleeper.Begun.Done()
			sleeper.Fiber.Wait(nil, nil) // returns after one Notify; an Unpark does not count
			woken = true
			sleeper.Over.Done()
		})
		schedtest.Perform(t, s, func() {
			sleeper.Begun.Wait()
			parker.Unpark()
			for range 10 {
				sched.Yield()
			}
			assert.False(t, woken)
			sleeper.Fiber.Notify()
		})
		sleeper.Over.Wait()
	})
}

func TestParkMisuse(t *testing.T) {
	suite.EachScheduler(t, []int{1}, func(t *testing.T, s *sched.Scheduler) {
		assert.Nil(t, park.Current())
		schedtest.Perform(t, s, func() {
			other := park.Current().(park.Scheduled)
			schedtest.Perform(t, s, func() {
				check.PanicsWith(t, sched.ErrNotSelf, func() { other.Park(time.Time{}) })
				check.PanicsWith(t, sched.ErrNotSelf, other.Yield)
			})
		})
	})
}
