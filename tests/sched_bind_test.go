package tests

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/sched"
)

// A bound goroutine is a fiber, on the thread that it had.
func TestFlowBind(t *testing.T) {
	eachConfig(t, anyWorkers, func(t *testing.T, cfg sched.Config) {
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
func TestFlowBindMany(t *testing.T) {
	eachConfig(t, []int{0, 2}, func(t *testing.T, cfg sched.Config) {
		s, err := sched.New(cfg)
		require.NoError(t, err)
		var over sync.WaitGroup
		var threads journal[int]
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
				threads.add(thread)
				const tasks = 20
				l := newLatch(tasks)
				for range tasks {
					scheduleHere(t, s, func() {
						assert.Equal(t, thread, tid())
						l.done()
					})
				}
				l.wait()
				assert.NoError(t, sched.Unbind())
			}()
		}
		over.Wait()
		assert.Equal(t, goroutines, distinct(threads.all()))
		require.NoError(t, s.Close())
	})
}

// Without workers nothing runs until the bound goroutine waits; then all does, on
// its thread.
func TestFlowBindRunsWhileItWaits(t *testing.T) {
	eachScheduler(t, []int{0}, func(t *testing.T, s *sched.Scheduler) {
		thread := tid()
		var ran int // on this thread only: the race detector would tell
		const tasks = 10
		l := newLatch(tasks)
		for range tasks {
			schedule(t, s, func() {
				assert.Equal(t, thread, tid())
				ran++
				l.done()
			})
		}
		assert.Zero(t, ran)
		assert.Equal(t, tasks, s.Stats().Pending)
		l.wait()
		assert.Equal(t, tasks, ran)
		assert.Zero(t, s.Stats().Pending)
	})
}

// Unbind runs the tasks that only the bound goroutine may run, and waits for fibers.
func TestFlowUnbind(t *testing.T) {
	eachConfig(t, []int{0, 1, 4}, func(t *testing.T, cfg sched.Config) {
		cfg.Patience = -1
		s, err := sched.New(cfg)
		require.NoError(t, err)
		require.NoError(t, s.Bind())
		thread := tid()
		var ran atomic.Int64
		const tasks = 50
		for i := range tasks {
			scheduleHere(t, s, func() {
				if i%2 == 0 {
					sched.Sleep(time.Millisecond)
				}
				assert.Equal(t, thread, tid())
				ran.Add(1)
			})
		}
		p := newSleeper()
		scheduleHere(t, s, p.task)
		woken := make(chan struct{})
		go func() {
			defer close(woken)
			p.wake()
		}()
		require.NoError(t, sched.Unbind())
		assert.EqualValues(t, tasks, ran.Load())
		assert.True(t, p.over.isOpen())
		<-woken
		require.NoError(t, s.Close())
	})
}

// A goroutine may bind one scheduler after the other, and a task may use another one.
func TestTwoSchedulers(t *testing.T) {
	eachScheduler(t, []int{1, 2}, func(t *testing.T, s *sched.Scheduler) {
		onScheduler(t, sched.Config{Workers: 1}, func(t *testing.T, other *sched.Scheduler) {
			perform(t, s, func() {
				l := newLatch(1)
				schedule(t, other, func() {
					assert.Same(t, other, sched.Get())
					l.done()
				})
				l.wait() // notified by a fiber of the other scheduler
				assert.Same(t, s, sched.Get())
			})
		})
	})
}
