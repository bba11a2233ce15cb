package tests

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"fiberlab/sched"
)

// busyPair keeps its worker busy with two fibers that wake one another until stop
// holds. It must be called in a task; over is told when each has ended.
func busyPair(t *testing.T, s *sched.Scheduler, stop func() bool, over *latch) {
	var fibers [2]*sched.Fiber
	for i := range fibers {
		scheduleHere(t, s, func() {
			defer over.done()
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
			fibers[1-i].Notify()
		})
	}
}

// Two fibers that wake one another for ever keep neither a task, pinned or not, nor a
// deadline, nor a notification from outside from having its turn.
func TestBusyPairStarvesNobody(t *testing.T) {
	eachScheduler(t, oneThread, func(t *testing.T, s *sched.Scheduler) {
		stopped := false // on one thread
		over := newLatch(3)
		schedule(t, s, func() {
			defer over.done()
			busyPair(t, s, func() bool { return stopped }, over)
			others := newLatch(3)
			sched.Sleep(time.Millisecond)
			schedule(t, s, others.done)
			scheduleHere(t, s, others.done)
			p := newSleeper()
			scheduleHere(t, s, func() {
				p.task()
				others.done()
			})
			go p.wake()
			others.wait()
			stopped = true
		})
		over.wait()
		assert.True(t, stopped)
	})
}

// Fibers that only yield do not keep out tasks from outside, nor one another.
func TestYieldersStarveNobody(t *testing.T) {
	eachScheduler(t, []int{1, 2}, func(t *testing.T, s *sched.Scheduler) {
		const yielders = 5
		begun, over := newLatch(yielders), newLatch(yielders)
		stop := newLatch(1)
		for range yielders {
			schedule(t, s, func() {
				begun.done()
				for !stop.isOpen() {
					sched.Yield()
				}
				over.done()
			})
		}
		begun.wait()
		perform(t, s, func() { sched.Sleep(time.Millisecond) })
		stop.done()
		over.wait()
	})
}

// Tasks that schedule themselves again for ever keep neither tasks from outside nor
// deadlines from having their turn.
func TestEndlessTasksStarveNobody(t *testing.T) {
	eachScheduler(t, []int{1, 2, 4}, func(t *testing.T, s *sched.Scheduler) {
		stop := newLatch(1)
		chains := s.Stats().Fibers
		over := newLatch(chains)
		for range chains {
			var again func()
			again = func() {
				if stop.isOpen() {
					over.done()
					return
				}
				scheduleHere(t, s, again)
			}
			schedule(t, s, again)
		}
		for range 5 {
			perform(t, s, func() { sched.Sleep(100 * time.Microsecond) })
		}
		stop.done()
		over.wait()
	})
}

// Tasks that come from outside one by one, each before the last has ended, do not keep a
// pinned one from its turn.
func TestTrickleStarvesNoPinnedTask(t *testing.T) {
	eachScheduler(t, []int{1}, func(t *testing.T, s *sched.Scheduler) {
		const most = 100
		feed, fed := make(chan struct{}), make(chan struct{})
		pinned, over := newLatch(1), newLatch(1)
		begun := 0
		trickle := func() {
			begun++
			if pinned.isOpen() || begun == most {
				assert.True(t, pinned.isOpen(), "%d tasks have been begun before the pinned one", begun)
				over.done()
				return
			}
			feed <- struct{}{}
			<-fed
		}
		schedule(t, s, func() {
			scheduleHere(t, s, pinned.done)
			feed <- struct{}{}
			<-fed
		})
		for done := false; !done; {
			select {
			case <-feed:
				schedule(t, s, trickle)
				fed <- struct{}{}
			case <-over.open:
				done = true
			}
		}
	})
}
