package fibersync_test

import (
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"

	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

// One takes the mutex again as soon as it has given it up, and lets others run only while it
// holds it. On one thread it is known how often it can do that while another client waits.
func TestMutexIsHandedOverIfBargingDoesNotPay(t *testing.T) {
	mutexEachThread(t, func(t *testing.T, s *sched.Scheduler) {
		const wanted = 10
		turns := mutexBesideGreedy(t, s, new(fibersync.Mutex), wanted, 1)
		assert.LessOrEqual(t, turns, 4*wanted, "turns of the greedy one")
	})
}

// As before, but many turns are done for each time that others may run: that pays, until
// a client has waited for long. A million turns take longer than that. It begins anew when
// no client waits any more.
func TestMutexIsHandedOffToALongWaiter(t *testing.T) {
	mutexEachThread(t, func(t *testing.T, s *sched.Scheduler) {
		var m fibersync.Mutex
		for range 2 {
			const every = 5
			turns := mutexBesideGreedy(t, s, &m, 1, every)
			assert.Greater(t, turns, 3*every, "the waiter's first attempt is not its last")
			assert.Less(t, turns, mutexMostTurns, "turns of the greedy one")
		}
	})
}

const mutexMostTurns = 1_000_000

func mutexEachThread(t *testing.T, test func(t *testing.T, s *sched.Scheduler)) {
	suite.EachScheduler(t, suite.OneThread, test)
}

// mutexBesideGreedy returns how many turns a greedy task had with m until another
// task had so many. The greedy one gives others a chance only in every so many turns, and
// gives up in the end.
func mutexBesideGreedy(t *testing.T, s *sched.Scheduler, m *fibersync.Mutex, wanted, every int) (turns int) {
	had := 0
	over := schedtest.NewLatch(2)
	greedy := func() {
		defer over.Done()
		for had < wanted && turns < mutexMostTurns {
			m.Lock()
			turns++
			if turns%every == 0 {
				sched.Yield()
			}
			m.Unlock()
		}
	}
	victim := func() {
		defer over.Done()
		for had < wanted {
			m.Lock()
			had++
			m.Unlock()
		}
	}
	schedtest.Perform(t, s, func() { // so that neither begins before the other is there
		schedtest.Schedule(t, s, greedy)
		schedtest.Schedule(t, s, victim)
	})
	over.Wait()
	return turns
}

// The same with all kinds of clients, where the number of turns is not known. It ends.
func TestMutexStarvesNoClient(t *testing.T) {
	eachCompany(t, func(c *company) {
		const victims = 3
		var m fibersync.Mutex
		var left atomic.Int64
		left.Store(victims)
		turns := 0
		for range 2 {
			c.start(func() {
				for left.Load() > 0 {
					m.Lock()
					pause()
					m.Unlock()
				}
			})
		}
		for range victims {
			c.start(func() {
				defer left.Add(-1)
				for range 5 {
					m.Lock()
					turns++
					m.Unlock()
				}
			})
		}
		c.wait()
		assert.Equal(c.t, 5*victims, turns)
	})
}
