package sched_test

import (
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/sched"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

// The flows of a scheduler's life, each under the name that it has in marl:
// construct, start, run, runUntilShutdown, stop, destruct.

// Each worker is there when New returns; the caller is not bound.
func TestNew(t *testing.T) {
	suite.EachConfig(t, suite.AnyWorkers, func(t *testing.T, cfg sched.Config) {
		roots := fiber.ReadStats().Roots
		s, err := sched.New(cfg)
		require.NoError(t, err)
		assert.Equal(t, roots+cfg.Workers, fiber.ReadStats().Roots)
		stats := s.Stats()
		assert.Len(t, stats.Workers, cfg.Workers)
		assert.Equal(t, cfg.Policy == sched.Group && cfg.Workers > 0, len(stats.Groups) > 0)
		stats.Workers, stats.Groups = nil, nil
		assert.Equal(t, sched.Stats{Fibers: cfg.Workers}, stats)
		assert.Nil(t, sched.Get())
		assert.Nil(t, sched.Current())
		require.NoError(t, s.Close())
	})
}

// AllCores makes a worker for each processor.
func TestAllCores(t *testing.T) {
	suite.EachBackend(t, func(t *testing.T, b fiber.Backend) {
		cfg := sched.AllCores()
		cfg.Backend = b
		require.Positive(t, cfg.Workers)
		suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			assert.Equal(t, cfg.Workers, s.Stats().Fibers)
		})
	})
}

// The initializer runs once on each worker's thread, before any task does.
func TestStart(t *testing.T) {
	suite.Over{Workers: suite.SomeWorkers, Only: suite.HasThreads}.Run(t, func(t *testing.T, cfg sched.Config) {
		threads := make([]int, cfg.Workers)
		cfg.Initializer = func(worker int) {
			assert.Zero(t, threads[worker], "worker %d twice", worker)
			threads[worker] = tid()
			assert.Contains(t, sched.Current().String(), fmt.Sprintf("worker %d fiber 0", worker))
		}
		suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			assert.NotContains(t, threads, 0)
			assert.NotContains(t, threads, tid())
			assert.Equal(t, cfg.Workers, schedtest.Distinct(threads))
			var ran schedtest.Journal[int]
			schedtest.HoldWorkers(t, s, cfg.Workers, func(int) {
				assert.Same(t, s, sched.Get())
				ran.Add(tid())
			})
			assert.ElementsMatch(t, threads, ran.All())
		})
	})
}

// The first fiber that a worker makes runs its first task. The one that its thread begins with runs none.
func TestRun(t *testing.T) {
	suite.EachConfig(t, suite.SomeWorkers, func(t *testing.T, cfg sched.Config) {
		suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			schedtest.Perform(t, s, func() {
				f := sched.Current()
				assert.Equal(t, 1, f.ID())
				assert.Equal(t, sched.Running, f.State())
				assert.Contains(t, f.String(), "fiber 1")
			})
		})
	})
}

// A worker that shall end runs what its tasks still schedule, and what is blocked.
func TestRunUntilShutdown(t *testing.T) {
	suite.EachConfig(t, suite.AnyWorkers, func(t *testing.T, cfg sched.Config) {
		var ran, slept atomic.Int64
		suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			var next func()
			next = func() {
				if n := ran.Add(1); n == 1000 {
					return
				} else if n%100 == 0 {
					schedtest.Schedule(t, s, func() {
						sched.Sleep(time.Millisecond)
						slept.Add(1)
					})
				}
				schedtest.Schedule(t, s, next)
			}
			schedtest.Schedule(t, s, next)
		})
		assert.EqualValues(t, 1000, ran.Load())
		assert.EqualValues(t, 9, slept.Load())
	})
}

// The threads that the scheduler made end with it.
func TestStop(t *testing.T) {
	suite.Over{Workers: suite.SomeWorkers, Only: suite.HasThreads}.Run(t, func(t *testing.T, cfg sched.Config) {
		var threads schedtest.Journal[int]
		cfg.Initializer = func(int) { threads.Add(tid()) }
		suite.OnScheduler(t, cfg, func(*testing.T, *sched.Scheduler) {
			for _, id := range threads.All() {
				assert.DirExists(t, fmt.Sprintf("/proc/self/task/%d", id))
			}
		})
		require.Len(t, threads.All(), cfg.Workers)
		for _, id := range threads.All() {
			assert.Eventually(t, func() bool {
				_, err := os.Stat(fmt.Sprintf("/proc/self/task/%d", id))
				return os.IsNotExist(err)
			}, time.Minute, time.Millisecond, "thread %d", id)
		}
	})
}

// Tasks that have not begun when the scheduler is closed are run.
func TestClosePendingTasks(t *testing.T) {
	suite.EachConfig(t, suite.AnyWorkers, func(t *testing.T, cfg sched.Config) {
		const tasks = 1000
		var ran atomic.Int64
		suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			for range tasks {
				schedtest.Schedule(t, s, func() { ran.Add(1) })
			}
		})
		assert.EqualValues(t, tasks, ran.Load())
	})
}

// Fibers that are blocked when the scheduler is closed are waited for, whether a
// deadline, another fiber, or a goroutine makes them go on.
func TestClosePendingFibers(t *testing.T) {
	suite.EachConfig(t, suite.AnyWorkers, func(t *testing.T, cfg sched.Config) {
		cfg.GiveUpAfter = -1
		const fibers = 20
		var sleepers []*schedtest.Sleeper
		var slept atomic.Int64
		woken := make(chan struct{})
		suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			for range fibers {
				one, other := schedtest.NewSleeper(), schedtest.NewSleeper()
				sleepers = append(sleepers, one, other)
				schedtest.Schedule(t, s, one.Task)
				schedtest.Schedule(t, s, func() {
					other.Task()
					one.Wake()
				})
				schedtest.Schedule(t, s, func() {
					sched.Sleep(2 * time.Millisecond)
					slept.Add(1)
				})
			}
			go func() {
				defer close(woken)
				for i := 1; i < len(sleepers); i += 2 {
					sleepers[i].Wake()
				}
			}()
		})
		<-woken
		assert.EqualValues(t, fibers, slept.Load())
		for _, p := range sleepers {
			assert.True(t, p.Over.IsOpen())
		}
	})
}

// Close waits for goroutines that bind the scheduler.
func TestCloseWaitsForUnbind(t *testing.T) {
	suite.EachConfig(t, []int{0, 2}, func(t *testing.T, cfg sched.Config) {
		s, err := sched.New(cfg)
		require.NoError(t, err)
		bound, over := make(chan struct{}), make(chan struct{})
		var unbinding atomic.Bool
		go func() {
			defer close(over)
			assert.NoError(t, s.Bind())
			close(bound)
			ran := schedtest.NewLatch(1)
			schedtest.Schedule(t, s, func() { sched.Sleep(2 * time.Millisecond); ran.Done() })
			ran.Wait()
			unbinding.Store(true)
			assert.NoError(t, sched.Unbind())
		}()
		<-bound
		require.NoError(t, s.Close())
		assert.True(t, unbinding.Load())
		<-over
	})
}
