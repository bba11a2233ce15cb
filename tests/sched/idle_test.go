package sched_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/sched"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

// A worker that has run out of work is woken by each thing that brings some: a
// task, a notification, a deadline.
func TestWaitForWork(t *testing.T) {
	suite.EachScheduler(t, suite.AnyWorkers, func(t *testing.T, s *sched.Scheduler) {
		for i := range 30 {
			pause := func() {
				if i%3 == 0 {
					// Now and then it spins no more: this makes more ways, no order.
					time.Sleep(200 * time.Microsecond)
				}
			}
			pause()
			schedtest.Perform(t, s, func() {})
			p := schedtest.NewSleeper()
			schedtest.Schedule(t, s, p.Task)
			p.Begun.Wait()
			pause()
			p.Wake()
			p.Over.Wait()
			schedtest.Perform(t, s, func() { sched.Sleep(300 * time.Microsecond) })
		}
	})
}

// Tasks that a worker has queued whose thread is held go to others, but not the pinned.
func TestSpinForWork(t *testing.T) {
	over := suite.Over{Workers: suite.SeveralWorkers, Only: suite.HasThreads}
	over.Run(t, func(t *testing.T, cfg sched.Config) {
		suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			const tasks, pinned = 200, 10
			var thread int
			var here atomic.Int64
			begun := schedtest.NewLatch(1)
			over := schedtest.NewLatch(tasks + pinned)
			schedtest.HoldWorkers(t, s, s.Stats().Fibers, func(i int) {
				if i != 0 {
					<-begun.Opened() // no worker is idle until all tasks are queued
					return
				}
				thread = tid()
				var left atomic.Int64
				left.Store(tasks)
				for range tasks {
					schedtest.Schedule(t, s, func() {
						assert.NotEqual(t, thread, tid())
						left.Add(-1)
						over.Done()
					})
				}
				for range pinned {
					schedtest.ScheduleHere(t, s, func() {
						assert.Zero(t, left.Load())
						assert.Equal(t, thread, tid())
						here.Add(1)
						over.Done()
					})
				}
				begun.Done()
				for left.Load() > 0 {
					time.Sleep(50 * time.Microsecond) // holds the thread
				}
				assert.Zero(t, here.Load())
			})
			over.Wait()
			assert.EqualValues(t, pinned, here.Load())
			if cfg.Policy == sched.Stealing {
				assert.GreaterOrEqual(t, s.Stats().Stolen, uint64(tasks))
			}
		})
	})
}

// Fibers go on in the order of their deadlines, in whichever order they began to wait. Of those whose
// deadlines a worker finds at one look, a fiber that may migrate comes last if the worker has idled on its stack.
func TestEnqueueFiberTimeouts(t *testing.T) {
	suite.EachConfig(t, suite.OneThread, func(t *testing.T, cfg sched.Config) {
		suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			random := suite.NewRand(t)
			const n = 20
			// keeps busy the fiber that the thread began with, whose deadlines are the worker's
			first := schedtest.NewSleeper()
			schedtest.Schedule(t, s, first.Task)
			first.Begun.Wait()
			var order []int
			trial := func(ahead time.Duration) (inTime bool) {
				start := time.Now().Add(ahead)
				begun, over := schedtest.NewLatch(n), schedtest.NewLatch(n)
				order = nil
				for _, rank := range random.Perm(n) {
					schedtest.Schedule(t, s, func() {
						deadline := start.Add(time.Duration(rank) * 500 * time.Microsecond)
						begun.Done()
						assert.False(t, sched.Current().WaitUntil(nil, deadline, nil))
						assert.False(t, time.Now().Before(deadline))
						order = append(order, rank)
						over.Done()
					})
				}
				begun.Wait()
				inTime = time.Now().Before(start)
				over.Wait()
				assert.Len(t, order, n)
				assert.Equal(t, n, schedtest.Distinct(order))
				return inTime
			}
			// a deadline has passed before all had begun to wait
			for ahead := 30 * time.Millisecond; !trial(ahead); ahead *= 2 {
				require.Less(t, ahead, schedtest.Standstill)
			}
			first.Wake()
			if cfg.Workers == 0 || !suite.Migrates(cfg.Policy) {
				assert.IsIncreasing(t, order)
			}
		})
	})
}

// Queued fibers go before tasks, and each in the order in which they came.
func TestRunUntilIdle(t *testing.T) {
	suite.EachScheduler(t, suite.OneThread, func(t *testing.T, s *sched.Scheduler) {
		const n = 10
		var order, want []int
		over := schedtest.NewLatch(2 * n)
		schedtest.Schedule(t, s, func() {
			sleepers := make([]*schedtest.Sleeper, n)
			for i := range sleepers {
				sleepers[i] = schedtest.NewSleeper()
				schedtest.ScheduleHere(t, s, func() {
					sleepers[i].Task()
					order = append(order, i)
					over.Done()
				})
			}
			for _, p := range sleepers {
				p.Blocked()
			}
			for i := range n {
				schedtest.ScheduleHere(t, s, func() {
					order = append(order, n+i)
					over.Done()
				})
			}
			for _, p := range sleepers {
				p.Wake()
			}
		})
		over.Wait()
		for i := range 2 * n {
			want = append(want, i)
		}
		assert.Equal(t, want, order)
	})
}

// A task from outside goes to a worker that has nothing to do, while others are busy.
func TestEnqueue(t *testing.T) {
	over := suite.Over{Workers: suite.SeveralWorkers, Only: suite.HasThreads}
	over.Run(t, func(t *testing.T, cfg sched.Config) {
		suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			busy := s.Stats().Fibers - 1
			begun, over := schedtest.NewLatch(busy), schedtest.NewLatch(busy)
			free := make(chan struct{})
			var threads schedtest.Journal[int]
			for range busy {
				schedtest.Schedule(t, s, func() {
					threads.Add(tid())
					begun.Done()
					<-free // holds the thread
					over.Done()
				})
			}
			begun.Wait()
			for range 50 {
				schedtest.Perform(t, s, func() { assert.NotContains(t, threads.All(), tid()) })
			}
			close(free)
			over.Wait()
		})
	})
}

// Tasks may be queued by tasks, by many goroutines, by a goroutine that is bound
// and waits for none of them.
func TestEnqueueFromAnywhere(t *testing.T) {
	suite.EachScheduler(t, suite.AnyWorkers, func(t *testing.T, s *sched.Scheduler) {
		const tasks, nested = 50, 4
		bound := s.Stats().Fibers == 1 && sched.Get() == s
		sources := 5
		if bound {
			sources = 1 // plain goroutines have no worker there
		}
		over := schedtest.NewLatch(sources * tasks * nested)
		start := func() {
			for range tasks {
				schedtest.Schedule(t, s, func() {
					for range nested {
						schedtest.Schedule(t, s, over.Done)
					}
				})
			}
		}
		for range sources - 1 {
			go start()
		}
		start()
		over.Wait()
		assert.GreaterOrEqual(t, s.Stats().Tasks, uint64(sources*tasks*nested))
	})
}
