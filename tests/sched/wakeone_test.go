package sched_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/sched"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

// A task that comes to an idle scheduler wakes the worker that begins it, and no other one besides.
func TestTaskWakesOneWorker(t *testing.T) {
	suite.Over{Workers: []int{2, 4}}.Run(t, func(t *testing.T, cfg sched.Config) {
		suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			const tasks, most = 200, 300
			round := func() uint64 {
				before := sleeps(s)
				for range tasks {
					time.Sleep(time.Millisecond) // all fall asleep, or the worker is not woken at all
					done := make(chan struct{})
					require.NoError(t, s.Go(func() { close(done) }))
					<-done
				}
				return sleeps(s) - before
			}
			// While a worker that has been woken does not get its processor, others may look again and again whether it
			// has gone to work, and each look is a sleep. A second worker that every task wakes would sleep anew in
			// every round.
			fewest := round()
			for end := time.Now().Add(schedtest.Standstill / 6); fewest >= most && time.Now().Before(end); {
				fewest = min(fewest, round())
			}
			assert.Less(
				t, fewest, uint64(most),
				"fewest sleeps of the workers in a round, in which they began %d tasks one by one", tasks,
			)
		})
	})
}

// sleeps is how often workers of s have slept.
func sleeps(s *sched.Scheduler) (n uint64) {
	for _, w := range s.Stats().Workers {
		n += w.Sleeps
	}
	return n
}

// A task for which a sleeping worker is woken does not wait behind a fiber that is notified at the same time and holds
// the worker's thread. Another worker begins it.
func TestTaskDoesNotWaitBehindAFiberThatComesWithIt(t *testing.T) {
	suite.EachScheduler(t, []int{3}, func(t *testing.T, s *sched.Scheduler) {
		for range 100 {
			began := make(chan struct{})
			over := schedtest.NewLatch(2)
			p := schedtest.NewSleeper()
			require.NoError(t, s.EnqueueOn(0, sched.Task{Func: func() {
				defer over.Done()
				p.Task()
				select {
				case <-began:
				case <-time.After(schedtest.Standstill):
					t.Error("the task waits for the fiber that keeps the thread")
				}
			}}))
			p.Blocked()
			time.Sleep(100 * time.Microsecond) // most often all workers sleep then
			schedtest.Schedule(t, s, func() {
				defer over.Done()
				close(began)
			})
			p.Wake()
			over.Wait()
			if t.Failed() {
				return
			}
		}
	})
}

// A deadline comes in time though the workers that watched it have got work that keeps their threads, and the last one
// has slept since before.
func TestDeadlineComesWhileItsWatchersWork(t *testing.T) {
	const workers = 3
	suite.Over{
		Workers: []int{workers}, Only: func(cfg sched.Config) bool { return !suite.Stay(cfg) },
	}.Run(
		t,
		func(t *testing.T, cfg sched.Config) {
			suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
				// A main fiber stays with its worker: let each be blocked, so that the tasks below run on others.
				var sleepers [workers]*schedtest.Sleeper
				for i := range sleepers {
					sleepers[i] = schedtest.NewSleeper()
					require.NoError(t, s.EnqueueOn(i, sched.Task{Func: sleepers[i].Task}))
					sleepers[i].Blocked()
				}
				defer func() {
					for _, p := range sleepers {
						p.Wake()
					}
				}()
				for range 40 {
					over := schedtest.NewLatch(workers)
					came := make(chan struct{})
					time.Sleep(200 * time.Microsecond) // most often all workers sleep then
					schedtest.Schedule(t, s, func() {
						defer over.Done()
						sched.Sleep(2 * time.Millisecond)
						close(came)
					})
					time.Sleep(500 * time.Microsecond)
					for range workers - 1 {
						schedtest.Schedule(t, s, func() {
							defer over.Done()
							select {
							case <-came:
							case <-time.After(schedtest.Standstill):
								t.Error("the deadline has not come")
							}
						})
					}
					over.Wait()
					if t.Failed() {
						return
					}
				}
			})
		},
	)
}
