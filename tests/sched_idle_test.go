package tests

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"fiberlab/sched"
)

// A worker that has run out of work is woken by each thing that brings some: a
// task, a notification, a deadline.
func TestFlowWaitForWork(t *testing.T) {
	eachScheduler(t, anyWorkers, func(t *testing.T, s *sched.Scheduler) {
		for i := range 30 {
			pause := func() {
				if i%3 == 0 {
					// Now and then it spins no more: this makes more ways, no order.
					time.Sleep(200 * time.Microsecond)
				}
			}
			pause()
			perform(t, s, func() {})
			p := newSleeper()
			schedule(t, s, p.task)
			p.begun.wait()
			pause()
			p.wake()
			p.over.wait()
			perform(t, s, func() { sched.Sleep(300 * time.Microsecond) })
		}
	})
}

// Tasks that lie with a worker whose thread is held are stolen, but not the pinned.
func TestFlowSpinForWork(t *testing.T) {
	eachScheduler(t, severalWorkers, func(t *testing.T, s *sched.Scheduler) {
		const tasks, pinned = 200, 10
		var thread int
		var here atomic.Int64
		begun := newLatch(1)
		over := newLatch(tasks + pinned)
		holdWorkers(t, s, s.Stats().Fibers, func(i int) {
			if i != 0 {
				<-begun.open // no worker is restless until all tasks are queued
				return
			}
			thread = tid()
			var left atomic.Int64
			left.Store(tasks)
			for range tasks {
				schedule(t, s, func() {
					assert.NotEqual(t, thread, tid())
					left.Add(-1)
					over.done()
				})
			}
			for range pinned {
				scheduleHere(t, s, func() {
					assert.Zero(t, left.Load())
					assert.Equal(t, thread, tid())
					here.Add(1)
					over.done()
				})
			}
			begun.done()
			for left.Load() > 0 {
				time.Sleep(50 * time.Microsecond) // holds the thread
			}
			assert.Zero(t, here.Load())
		})
		over.wait()
		assert.EqualValues(t, pinned, here.Load())
		assert.GreaterOrEqual(t, s.Stats().Stolen, uint64(tasks))
	})
}

// Fibers go on in the order of their deadlines, whatever order they began to wait in.
func TestFlowEnqueueFiberTimeouts(t *testing.T) {
	eachScheduler(t, oneThread, func(t *testing.T, s *sched.Scheduler) {
		random := newRand(t)
		const n = 20
		first := time.Now().Add(30 * time.Millisecond)
		begun, over := newLatch(n), newLatch(n)
		var order []int
		for _, rank := range random.Perm(n) {
			schedule(t, s, func() {
				deadline := first.Add(time.Duration(rank) * 500 * time.Microsecond)
				begun.done()
				assert.False(t, sched.Current().WaitUntil(nil, deadline, nil))
				assert.False(t, time.Now().Before(deadline))
				order = append(order, rank)
				over.done()
			})
		}
		begun.wait()
		inTime := time.Now().Before(first)
		over.wait()
		assert.Len(t, order, n)
		assert.Equal(t, n, distinct(order))
		if !inTime {
			t.Skip("the machine was too slow: a deadline passed before all had begun to wait")
		}
		assert.IsIncreasing(t, order)
	})
}

// Queued fibers go before tasks, and each in the order in which they came.
func TestFlowRunUntilIdle(t *testing.T) {
	eachScheduler(t, oneThread, func(t *testing.T, s *sched.Scheduler) {
		const n = 10
		var order, want []int
		over := newLatch(2 * n)
		schedule(t, s, func() {
			sleepers := make([]*sleeper, n)
			for i := range sleepers {
				sleepers[i] = newSleeper()
				scheduleHere(t, s, func() {
					sleepers[i].task()
					order = append(order, i)
					over.done()
				})
			}
			for _, p := range sleepers {
				p.blocked()
			}
			for i := range n {
				scheduleHere(t, s, func() {
					order = append(order, n+i)
					over.done()
				})
			}
			for _, p := range sleepers {
				p.wake()
			}
		})
		over.wait()
		for i := range 2 * n {
			want = append(want, i)
		}
		assert.Equal(t, want, order)
	})
}

// A task from outside goes to a worker that has nothing to do, while others are busy.
func TestFlowEnqueue(t *testing.T) {
	eachScheduler(t, severalWorkers, func(t *testing.T, s *sched.Scheduler) {
		busy := s.Stats().Fibers - 1
		begun, over := newLatch(busy), newLatch(busy)
		free := make(chan struct{})
		var threads journal[int]
		for range busy {
			schedule(t, s, func() {
				threads.add(tid())
				begun.done()
				<-free // holds the thread
				over.done()
			})
		}
		begun.wait()
		for range 50 {
			perform(t, s, func() { assert.NotContains(t, threads.all(), tid()) })
		}
		close(free)
		over.wait()
	})
}

// Tasks may be queued by anybody: by tasks, by many goroutines, by one that is bound
// and waits for none of them.
func TestFlowEnqueueFromAnywhere(t *testing.T) {
	eachScheduler(t, anyWorkers, func(t *testing.T, s *sched.Scheduler) {
		const tasks, nested = 50, 4
		bound := s.Stats().Fibers == 1 && sched.Get() == s
		sources := 5
		if bound {
			sources = 1 // plain goroutines have no worker there
		}
		over := newLatch(sources * tasks * nested)
		start := func() {
			for range tasks {
				schedule(t, s, func() {
					for range nested {
						schedule(t, s, over.done)
					}
				})
			}
		}
		for range sources - 1 {
			go start()
		}
		start()
		over.wait()
		assert.GreaterOrEqual(t, s.Stats().Tasks, uint64(sources*tasks*nested))
	})
}
