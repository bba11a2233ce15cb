package tests

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
)

// The flows of a scheduler's life, each under the name that it has in marl:
// construct, start, run, runUntilShutdown, stop, destruct.

// Each worker is there when New returns; the caller is not bound.
func TestFlowConstruct(t *testing.T) {
	eachConfig(t, anyWorkers, func(t *testing.T, cfg sched.Config) {
		roots := fiber.ReadStats().Roots
		s, err := sched.New(cfg)
		require.NoError(t, err)
		assert.Equal(t, roots+cfg.Workers, fiber.ReadStats().Roots)
		stats := s.Stats()
		assert.Len(t, stats.Workers, cfg.Workers)
		stats.Workers = nil
		assert.Equal(t, sched.Stats{Fibers: cfg.Workers}, stats)
		assert.Nil(t, sched.Get())
		assert.Nil(t, sched.Current())
		require.NoError(t, s.Close())
	})
}

// AllCores makes a worker for each processor.
func TestAllCores(t *testing.T) {
	eachBackend(t, func(t *testing.T, b fiber.Backend) {
		cfg := sched.AllCores()
		cfg.Backend = b
		require.Positive(t, cfg.Workers)
		onScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			assert.Equal(t, cfg.Workers, s.Stats().Fibers)
		})
	})
}

// The initializer runs once on each worker's thread, before any task does.
func TestFlowStart(t *testing.T) {
	eachConfig(t, someWorkers, func(t *testing.T, cfg sched.Config) {
		threads := make([]int, cfg.Workers)
		cfg.Initializer = func(worker int) {
			assert.Zero(t, threads[worker], "worker %d twice", worker)
			threads[worker] = tid()
			assert.Contains(t, sched.Current().String(), fmt.Sprintf("worker %d fiber 0", worker))
		}
		onScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			assert.NotContains(t, threads, 0)
			assert.NotContains(t, threads, tid())
			assert.Equal(t, cfg.Workers, distinct(threads))
			var ran journal[int]
			holdWorkers(t, s, cfg.Workers, func(int) {
				assert.Same(t, s, sched.Get())
				ran.add(tid())
			})
			assert.ElementsMatch(t, threads, ran.all())
		})
	})
}

// The fiber that a thread begins with runs its first task.
func TestFlowRun(t *testing.T) {
	eachScheduler(t, someWorkers, func(t *testing.T, s *sched.Scheduler) {
		perform(t, s, func() {
			f := sched.Current()
			assert.Zero(t, f.ID())
			assert.Equal(t, sched.Running, f.State())
			assert.Contains(t, f.String(), "fiber 0")
		})
	})
}

// A worker that shall end runs what its tasks still schedule, and what is blocked.
func TestFlowRunUntilShutdown(t *testing.T) {
	eachConfig(t, anyWorkers, func(t *testing.T, cfg sched.Config) {
		var ran, slept atomic.Int64
		onScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			var next func()
			next = func() {
				if n := ran.Add(1); n == 1000 {
					return
				} else if n%100 == 0 {
					schedule(t, s, func() {
						sched.Sleep(time.Millisecond)
						slept.Add(1)
					})
				}
				schedule(t, s, next)
			}
			schedule(t, s, next)
		})
		assert.EqualValues(t, 1000, ran.Load())
		assert.EqualValues(t, 9, slept.Load())
	})
}

// The threads that the scheduler made end with it.
func TestFlowStop(t *testing.T) {
	eachConfig(t, someWorkers, func(t *testing.T, cfg sched.Config) {
		var threads journal[int]
		cfg.Initializer = func(int) { threads.add(tid()) }
		onScheduler(t, cfg, func(*testing.T, *sched.Scheduler) {
			for _, id := range threads.all() {
				assert.DirExists(t, fmt.Sprintf("/proc/self/task/%d", id))
			}
		})
		require.Len(t, threads.all(), cfg.Workers)
		for _, id := range threads.all() {
			assert.Eventually(t, func() bool {
				_, err := os.Stat(fmt.Sprintf("/proc/self/task/%d", id))
				return os.IsNotExist(err)
			}, time.Minute, time.Millisecond, "thread %d", id)
		}
	})
}

// Tasks that have not begun when the scheduler is closed are run.
func TestFlowDestructPendingTasks(t *testing.T) {
	eachConfig(t, anyWorkers, func(t *testing.T, cfg sched.Config) {
		const tasks = 1000
		var ran atomic.Int64
		onScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			for range tasks {
				schedule(t, s, func() { ran.Add(1) })
			}
		})
		assert.EqualValues(t, tasks, ran.Load())
	})
}

// Fibers that are blocked when the scheduler is closed are waited for, whoever
// makes them go on: a deadline, another fiber, or a goroutine.
func TestFlowDestructPendingFibers(t *testing.T) {
	eachConfig(t, anyWorkers, func(t *testing.T, cfg sched.Config) {
		cfg.Patience = -1
		const fibers = 20
		var sleepers []*sleeper
		var slept atomic.Int64
		woken := make(chan struct{})
		onScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			for range fibers {
				one, other := newSleeper(), newSleeper()
				sleepers = append(sleepers, one, other)
				schedule(t, s, one.task)
				schedule(t, s, func() {
					other.task()
					one.wake()
				})
				schedule(t, s, func() {
					sched.Sleep(2 * time.Millisecond)
					slept.Add(1)
				})
			}
			go func() {
				defer close(woken)
				for i := 1; i < len(sleepers); i += 2 {
					sleepers[i].wake()
				}
			}()
		})
		<-woken
		assert.EqualValues(t, fibers, slept.Load())
		for _, p := range sleepers {
			assert.True(t, p.over.isOpen())
		}
	})
}

// Close waits for goroutines that bind the scheduler.
func TestFlowDestructWaitsForUnbind(t *testing.T) {
	eachConfig(t, []int{0, 2}, func(t *testing.T, cfg sched.Config) {
		s, err := sched.New(cfg)
		require.NoError(t, err)
		bound, over := make(chan struct{}), make(chan struct{})
		var unbinding atomic.Bool
		go func() {
			defer close(over)
			assert.NoError(t, s.Bind())
			close(bound)
			ran := newLatch(1)
			schedule(t, s, func() { sched.Sleep(2 * time.Millisecond); ran.done() })
			ran.wait()
			unbinding.Store(true)
			assert.NoError(t, sched.Unbind())
		}()
		<-bound
		require.NoError(t, s.Close())
		assert.True(t, unbinding.Load())
		<-over
	})
}
