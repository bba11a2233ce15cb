package sched_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"fiberlab/sched"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

// Tasks run on the workers' threads only, and each goes on after every wait on the
// thread that it began on.
func TestFibersKeepTheirThread(t *testing.T) {
	configs := suite.Over{Workers: suite.AnyWorkers, Only: suite.Stay}
	configs.Run(t, func(t *testing.T, cfg sched.Config) {
		var workers schedtest.Journal[int]
		cfg.Initializer = func(int) { workers.Add(tid()) }
		suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			threads := workers.All()
			if cfg.Workers == 0 {
				threads = []int{tid()}
			}
			n := suite.Scaled(200, 50)
			over := schedtest.NewLatch(n)
			for i := range n {
				schedtest.Schedule(t, s, func() {
					defer over.Done()
					f, thread := sched.Current(), tid()
					assert.Contains(t, threads, thread)
					for round := range 4 {
						switch (i + round) % 3 {
						case 0:
							sched.Yield()
						case 1:
							sched.Sleep(time.Duration(i) * time.Microsecond)
						case 2:
							p := schedtest.NewSleeper()
							schedtest.Schedule(t, s, p.Wake)
							p.Task()
						}
						assert.Equal(t, thread, tid())
						assert.Same(t, f, sched.Current())
						assert.Same(t, s, sched.Get())
					}
				})
			}
			over.Wait()
		})
	})
}

// Where fibers may migrate, a ready fiber continues elsewhere while its worker's thread is held. A worker's first task
// is no exception.
func TestFibersMigrate(t *testing.T) {
	configs := suite.Over{
		Workers: suite.SeveralWorkers,
		Only:    func(cfg sched.Config) bool { return suite.Migrates(cfg.Policy) },
	}
	configs.Run(t, func(t *testing.T, cfg sched.Config) {
		suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			held, moved := make(chan struct{}), make(chan struct{})
			p, over := schedtest.NewSleeper(), schedtest.NewLatch(1)
			schedtest.Schedule(t, s, func() {
				f := sched.Current()
				before := f.Worker()
				schedtest.ScheduleHere(t, s, func() {
					close(held)
					<-moved // holds the thread
				})
				p.Task()
				assert.Same(t, f, sched.Current())
				assert.NotSame(t, before, f.Worker())
				close(moved)
				over.Done()
			})
			<-held
			p.Wake()
			over.Wait()
		})
	})
}

// A bound goroutine runs no task of a scheduler that has workers, but its own.
func TestBoundGoroutineRunsItsOwnOnly(t *testing.T) {
	configs := suite.Over{Workers: suite.SomeWorkers, Only: suite.HasThreads}
	configs.Run(t, func(t *testing.T, cfg sched.Config) {
		suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			require.NoError(t, s.Bind())
			thread := tid()
			const tasks = 100
			over := schedtest.NewLatch(2 * tasks)
			for range tasks {
				schedtest.Schedule(t, s, func() {
					assert.NotEqual(t, thread, tid())
					over.Done()
				})
				schedtest.ScheduleHere(t, s, func() {
					assert.Equal(t, thread, tid())
					over.Done()
				})
			}
			over.Wait()
			require.NoError(t, sched.Unbind())
		})
	})
}

// SameThread keeps a task on its worker, through generations.
func TestSameThread(t *testing.T) {
	suite.EachConfig(t, suite.AnyWorkers, func(t *testing.T, cfg sched.Config) {
		suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			const families, generations = 20, 10
			over := schedtest.NewLatch(families)
			for range families {
				schedtest.Schedule(t, s, func() {
					thread, worker := tid(), sched.Current().Worker()
					var next func(left int)
					next = func(left int) {
						if suite.HasThreads(cfg) {
							assert.Equal(t, thread, tid())
						}
						assert.Same(t, worker, sched.Current().Worker())
						if left == 0 {
							over.Done()
							return
						}
						assert.NoError(t, sched.Schedule(func() { next(left - 1) }, sched.SameThread))
					}
					next(generations)
				})
			}
			over.Wait()
		})
	})
}

// timerSlack returns the timer slack of the calling thread, in nanoseconds. A worker's thread has less than others. A
// new thread inherits the slack of its creator.
func timerSlack(t *testing.T) int {
	slack, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	assert.NoError(t, err)
	return slack
}

// The threads that the runtime makes because a task needs them are not made in the image of
// the worker's, which may have been tied to a CPU, for example.
func TestRuntimesThreadsAreNoWorkers(t *testing.T) {
	configs := suite.Over{Workers: []int{1}, Only: suite.HasThreads}
	configs.Run(t, func(t *testing.T, cfg sched.Config) {
		cfg.KeepThreads = true
		suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			slack := timerSlack(t)
			first := schedtest.NewSleeper() // on the fiber that its thread began with
			schedtest.Schedule(t, s, first.Task)
			first.Begun.Wait()
			var pipe [2]int
			require.NoError(t, unix.Pipe(pipe[:]))
			schedtest.Perform(t, s, func() {
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
			first.Wake()
		})
	})
}
