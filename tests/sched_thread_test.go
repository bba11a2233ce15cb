package tests

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"fiberlab/sched"
)

// Tasks run on the workers' threads only, and each goes on after every wait on the
// thread that it began on.
func TestFibersKeepTheirThread(t *testing.T) {
	eachConfig(t, anyWorkers, func(t *testing.T, cfg sched.Config) {
		var workers journal[int]
		cfg.Initializer = func(int) { workers.add(tid()) }
		onScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			threads := workers.all()
			if cfg.Workers == 0 {
				threads = []int{tid()}
			}
			n := scaled(200, 50)
			over := newLatch(n)
			for i := range n {
				schedule(t, s, func() {
					defer over.done()
					f, thread := sched.Current(), tid()
					assert.Contains(t, threads, thread)
					for round := range 4 {
						switch (i + round) % 3 {
						case 0:
							sched.Yield()
						case 1:
							sched.Sleep(time.Duration(i) * time.Microsecond)
						case 2:
							p := newSleeper()
							schedule(t, s, p.wake)
							p.task()
						}
						assert.Equal(t, thread, tid())
						assert.Same(t, f, sched.Current())
						assert.Same(t, s, sched.Get())
					}
				})
			}
			over.wait()
		})
	})
}

// A bound goroutine runs no task of a scheduler that has workers, but its own.
func TestBoundGoroutineRunsItsOwnOnly(t *testing.T) {
	eachScheduler(t, someWorkers, func(t *testing.T, s *sched.Scheduler) {
		require.NoError(t, s.Bind())
		thread := tid()
		const tasks = 100
		over := newLatch(2 * tasks)
		for range tasks {
			schedule(t, s, func() {
				assert.NotEqual(t, thread, tid())
				over.done()
			})
			scheduleHere(t, s, func() {
				assert.Equal(t, thread, tid())
				over.done()
			})
		}
		over.wait()
		require.NoError(t, sched.Unbind())
	})
}

// SameThread keeps a task on its worker, through generations.
func TestSameThread(t *testing.T) {
	eachScheduler(t, anyWorkers, func(t *testing.T, s *sched.Scheduler) {
		const families, generations = 20, 10
		over := newLatch(families)
		for range families {
			schedule(t, s, func() {
				thread, worker := tid(), sched.Current().Worker()
				var next func(left int)
				next = func(left int) {
					assert.Equal(t, thread, tid())
					assert.Same(t, worker, sched.Current().Worker())
					if left == 0 {
						over.done()
						return
					}
					assert.NoError(t, sched.Schedule(func() { next(left - 1) }, sched.SameThread))
				}
				next(generations)
			})
		}
		over.wait()
	})
}

// timerSlack is what the calling thread has of it, in nanoseconds. A worker's thread has less
// than others, and a thread gets that of the one that made it.
func timerSlack(t *testing.T) int {
	slack, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	assert.NoError(t, err)
	return slack
}

// The threads that the runtime makes because a task needs them are not made in the image of
// the worker's, which may have been tied to a CPU, for example.
func TestRuntimesThreadsAreNoWorkers(t *testing.T) {
	eachScheduler(t, []int{1}, func(t *testing.T, s *sched.Scheduler) {
		slack := timerSlack(t)
		first := newSleeper() // on the fiber that its thread began with
		schedule(t, s, first.task)
		first.begun.wait()
		var pipe [2]int
		require.NoError(t, unix.Pipe(pipe[:]))
		perform(t, s, func() {
			assert.NotZero(t, sched.Current().ID())
			assert.NotEqual(t, slack, timerSlack(t))
			var blocked sync.WaitGroup
			for range 10 {
				blocked.Add(1)
				go func() {
					defer blocked.Done()
					assert.Equal(t, slack, timerSlack(t), "of a thread that is no worker's")
					_, err := unix.Read(pipe[0], make([]byte, 1)) // keeps its thread
					assert.NoError(t, err)
				}()
				sched.Sleep(time.Millisecond)
			}
			assert.NoError(t, unix.Close(pipe[1]))
			blocked.Wait()
		})
		require.NoError(t, unix.Close(pipe[0]))
		first.wake()
	})
}
