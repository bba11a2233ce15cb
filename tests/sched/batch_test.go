package sched_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/sched"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

// batch returns n tasks that call f with their number.
func batch(n int, f func(i int)) []sched.Task {
	tasks := make([]sched.Task, n)
	for i := range tasks {
		tasks[i].Func = func() { f(i) }
	}
	return tasks
}

// A batch of any size runs, each task once, from inside and from outside; tasks that must stay with the caller's worker
// do.
func TestBatch(t *testing.T) {
	suite.EachScheduler(t, suite.AnyWorkers, func(t *testing.T, s *sched.Scheduler) {
		for _, n := range []int{0, 1, 2, 3, 100, 1000} {
			ran := make([]atomic.Int32, n)
			enqueue := func(pin bool) {
				own := sched.Current().Worker()
				all := schedtest.NewLatch(n + 1)
				tasks := batch(n, func(i int) {
					defer all.Done()
					ran[i].Add(1)
					if pin && i%3 == 0 {
						assert.Same(t, own, sched.Current().Worker())
					}
				})
				for i := 0; pin && i < n; i += 3 {
					tasks[i].Flags = sched.SameThread
				}
				accepted, err := s.EnqueueBatch(tasks)
				assert.NoError(t, err)
				assert.Equal(t, n, accepted)
				all.Done()
				all.Wait()
			}
			enqueue(false)
			schedtest.Perform(t, s, func() { enqueue(false) })
			schedtest.Perform(t, s, func() {
				pinned := schedtest.NewLatch(1)
				schedtest.ScheduleHere(t, s, func() { defer pinned.Done(); enqueue(true) })
				pinned.Wait()
			})
			for i := range ran {
				require.EqualValues(t, 3, ran[i].Load(), "runs of task %d of %d", i, n)
			}
		}
	})
}

// A batch wakes as many workers as it needs: its tasks hold their threads until all of them run.
func TestBatchWakesWorkers(t *testing.T) {
	suite.EachScheduler(t, suite.SomeWorkers, func(t *testing.T, s *sched.Scheduler) {
		workers := len(s.Stats().Workers)
		enqueue := func(n int) {
			var met sync.WaitGroup
			met.Add(n)
			all := schedtest.NewLatch(n)
			accepted, err := s.EnqueueBatch(batch(n, func(int) {
				defer all.Done()
				met.Done()
				met.Wait()
			}))
			assert.NoError(t, err)
			assert.Equal(t, n, accepted)
			all.Wait()
		}
		for range suite.Scaled(30, 5) {
			enqueue(workers)
			schedtest.Perform(t, s, func() { enqueue(workers) })
		}
	})
}

// From outside, each scheduling group gets a share of a batch: the tasks hold their threads until one runs in each
// group.
func TestBatchSharedByGroups(t *testing.T) {
	over := suite.Over{Workers: []int{4, 8}, Policies: []sched.Policy{sched.Group}}
	over.Run(t, func(t *testing.T, cfg sched.Config) {
		noSteal(&cfg) // an idle group may take another one's share
		cfg.Groups.Size = 2
		suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			for range suite.Scaled(30, 5) {
				n := s.Groups()
				var met sync.WaitGroup
				met.Add(n)
				groups := make([]int, n)
				all := schedtest.NewLatch(n)
				accepted, err := s.EnqueueBatch(batch(n, func(i int) {
					defer all.Done()
					groups[i] = sched.Current().Worker().Group()
					met.Done()
					met.Wait()
				}))
				assert.NoError(t, err)
				assert.Equal(t, n, accepted)
				all.Wait()
				assert.Equal(t, n, schedtest.Distinct(groups), "groups that run a task: %v", groups)
			}
		})
	})
}

// What cannot be accepted is named, and nothing behind it runs.
func TestBatchRefused(t *testing.T) {
	suite.EachConfig(t, []int{0, 1, 2}, func(t *testing.T, cfg sched.Config) {
		s, err := sched.New(cfg)
		require.NoError(t, err)
		ran := make([]atomic.Int32, 4)
		tasks := batch(4, func(i int) { ran[i].Add(1) })
		if cfg.Workers == 0 {
			n, err := s.EnqueueBatch(tasks)
			assert.Zero(t, n)
			assert.ErrorIs(t, err, sched.ErrNoWorkers)
		} else {
			tasks[2].Flags = sched.SameThread
			n, err := s.EnqueueBatch(tasks)
			assert.Equal(t, 2, n)
			assert.ErrorIs(t, err, sched.ErrNotBound)
		}
		n, err := s.EnqueueBatch(append(tasks, sched.Task{}))
		assert.Zero(t, n)
		assert.ErrorIs(t, err, sched.ErrNilTask)
		assert.ErrorContains(t, err, "task 4")
		require.NoError(t, s.Close())
		tasks[2].Flags = 0
		n, err = s.EnqueueBatch(tasks)
		assert.Zero(t, n)
		assert.Error(t, err)
		for i := range ran {
			want := 0
			if cfg.Workers > 0 && i < 2 {
				want = 1
			}
			assert.EqualValues(t, want, ran[i].Load(), "runs of task %d", i)
		}
	})
}

// A batch for which there is no room waits for it, a task not its thread.
func TestBatchWaitsForRoom(t *testing.T) {
	suite.EachConfig(t, suite.AnyWorkers, func(t *testing.T, cfg sched.Config) {
		cfg.MaxQueued = 3
		suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			const each, callers = 50, 3
			all := schedtest.NewLatch(each * (callers + 1))
			enqueue := func() {
				n, err := s.EnqueueBatch(batch(each, func(int) { all.Done() }))
				assert.NoError(t, err)
				assert.Equal(t, each, n)
			}
			for range callers {
				schedtest.Schedule(t, s, enqueue)
			}
			enqueue()
			all.Wait()
			for range cfg.MaxQueued + 1 { // no place has been lost
				schedtest.Perform(t, s, func() {})
			}
		})
	})
}

// A batch that waits for too long tells how many tasks were accepted. Those run, and no others.
func TestBatchOverload(t *testing.T) {
	suite.EachConfig(t, []int{1}, func(t *testing.T, cfg sched.Config) {
		cfg.MaxQueued, cfg.OverloadAfter = 3, time.Millisecond
		s, err := sched.New(cfg)
		require.NoError(t, err)
		release := hold(t, s)
		ran := make([]atomic.Int32, 10)
		n, err := s.EnqueueBatch(batch(len(ran), func(i int) { ran[i].Add(1) }))
		assert.Equal(t, cfg.MaxQueued, n)
		assert.ErrorIs(t, err, sched.ErrOverload)
		release()
		require.NoError(t, s.Close())
		for i := range ran {
			want := 0
			if i < n {
				want = 1
			}
			assert.EqualValues(t, want, ran[i].Load(), "runs of task %d", i)
		}
	})
}

// Batches and Close at the same time: each accepted task runs once, each other one never.
func TestBatchAgainstClose(t *testing.T) {
	suite.EachConfig(t, suite.SomeWorkers, func(t *testing.T, cfg sched.Config) {
		for range suite.Scaled(10, 3) {
			s, err := sched.New(cfg)
			require.NoError(t, err)
			const callers, each = 4, 200
			ran := make([]atomic.Int32, callers*each)
			accepted := make([]int, callers)
			var begun, all sync.WaitGroup
			for c := range callers {
				begun.Add(1)
				all.Add(1)
				go func() {
					defer all.Done()
					begun.Done()
					for i := 0; i < each; i += 10 {
						n, err := s.EnqueueBatch(batch(10, func(k int) { ran[c*each+i+k].Add(1) }))
						accepted[c] += n
						if err != nil {
							assert.ErrorIs(t, err, sched.ErrClosed)
							return
						}
					}
				}()
			}
			begun.Wait()
			require.NoError(t, s.Close())
			all.Wait()
			for i := range ran {
				want := 0
				if i%each < accepted[i/each] {
					want = 1
				}
				require.EqualValues(t, want, ran[i].Load(), "runs of task %d", i)
			}
		}
	})
}
