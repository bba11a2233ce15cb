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

// A bound goroutine is a fiber, on the thread that it had.
func TestBind(t *testing.T) {
	suite.EachConfig(t, suite.AnyWorkers, func(t *testing.T, cfg sched.Config) {
		s, err := sched.New(cfg)
		require.NoError(t, err)
		for range 3 {
			require.NoError(t, s.Bind())
			assert.Same(t, s, sched.Get())
			f := sched.Current()
			require.NotNil(t, f)
			assert.Zero(t, f.ID())
			assert.Equal(t, sched.Running, f.State())
			assert.Equal(t, cfg.Workers+1, s.Stats().Fibers)
			thread := tid()
			sched.Sleep(time.Microsecond)
			sched.Yield()
			assert.Equal(t, thread, tid())
			assert.Same(t, f, sched.Current())
			require.NoError(t, sched.Unbind())
			assert.Nil(t, sched.Get())
			assert.Nil(t, sched.Current())
		}
		require.NoError(t, s.Close())
	})
}

// Many goroutines bind the same scheduler, and each runs its own tasks.
func TestBindMany(t *testing.T) {
	suite.EachConfig(t, []int{0, 2}, func(t *testing.T, cfg sched.Config) {
		s, err := sched.New(cfg)
		require.NoError(t, err)
		var over sync.WaitGroup
		var threads schedtest.Journal[int]
		const goroutines = 8
		var met sync.WaitGroup
		met.Add(goroutines)
		for range goroutines {
			over.Add(1)
			go func() {
				defer over.Done()
				assert.NoError(t, s.Bind())
				met.Done()
				met.Wait()
				thread := tid()
				threads.Add(thread)
				const tasks = 20
				l := schedtest.NewLatch(tasks)
				for range tasks {
					schedtest.ScheduleHere(t, s, func() {
						assert.Equal(t, thread, tid())
						l.Done()
					})
				}
				l.Wait()
				assert.NoError(t, sched.Unbind())
			}()
		}
		over.Wait()
		assert.Equal(t, goroutines, schedtest.Distinct(threads.All()))
		require.NoError(t, s.Close())
	})
}

// Without workers nothing runs until the bound goroutine waits; then all does, on
// its thread.
func TestBindRunsWhileItWaits(t *testing.T) {
	suite.EachScheduler(t, []int{0}, func(t *testing.T, s *sched.Scheduler) {
		thread := tid()
		var ran int // on this thread only: the race detector would tell
		const tasks = 10
		l := schedtest.NewLatch(tasks)
		for range tasks {
			schedtest.Schedule(t, s, func() {
				assert.Equal(t, thread, tid())
				ran++
				l.Done()
			})
		}
		assert.Zero(t, ran)
		assert.Equal(t, tasks, s.Stats().Pending)
		l.Wait()
		assert.Equal(t, tasks, ran)
		assert.Zero(t, s.Stats().Pending)
	})
}

// Unbind runs the tasks that only the bound goroutine may run, and waits for fibers.
func TestUnbind(t *testing.T) {
	suite.EachConfig(t, []int{0, 1, 4}, func(t *testing.T, cfg sched.Config) {
		cfg.GiveUpAfter = -1
		s, err := sched.New(cfg)
		require.NoError(t, err)
		require.NoError(t, s.Bind())
		thread := tid()
		var ran atomic.Int64
		const tasks = 50
		for i := range tasks {
			schedtest.ScheduleHere(t, s, func() {
				if i%2 == 0 {
					sched.Sleep(time.Millisecond)
				}
				assert.Equal(t, thread, tid())
				ran.Add(1)
			})
		}
		p := schedtest.NewSleeper()
		schedtest.ScheduleHere(t, s, p.Task)
		woken := make(chan struct{})
		go func() {
			defer close(woken)
			p.Wake()
		}()
		require.NoError(t, sched.Unbind())
		assert.EqualValues(t, tasks, ran.Load())
		assert.True(t, p.Over.IsOpen())
		<-woken
		require.NoError(t, s.Close())
	})
}

// A goroutine may bind one scheduler after the other, and a task may use another one.
func TestTwoSchedulers(t *testing.T) {
	suite.EachScheduler(t, []int{1, 2}, func(t *testing.T, s *sched.Scheduler) {
		suite.OnScheduler(t, sched.Config{Workers: 1}, func(t *testing.T, other *sched.Scheduler) {
			schedtest.Perform(t, s, func() {
				l := schedtest.NewLatch(1)
				schedtest.Schedule(t, other, func() {
					assert.Same(t, other, sched.Get())
					l.Done()
				})
				l.Wait() // notified by a fiber of the other scheduler
				assert.Same(t, s, sched.Get())
			})
		})
	})
}

// A goroutine that unbinds gives the room of its tasks back, and its counts stay: no task waits to begin, and none that
// has begun is forgotten.
func TestUnbindKeepsRoomAndCounts(t *testing.T) {
	suite.EachConfig(t, []int{0, 1, 4}, func(t *testing.T, cfg sched.Config) {
		cfg.MaxQueued = 128
		s, err := sched.New(cfg)
		require.NoError(t, err)
		for n := range 2 * cfg.MaxQueued {
			require.NoError(t, s.Bind())
			require.NoError(t, s.TryEnqueue(sched.Task{Func: func() {}, Flags: sched.SameThread}), "round %d", n)
			require.NoError(t, sched.Unbind())
			require.EqualValues(t, n+1, s.Stats().Tasks)
		}
		require.NoError(t, s.Close())
		require.Zero(t, s.Stats().Pending)
	})
}
