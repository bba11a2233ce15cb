package sched_test

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/internal/threadtest"
	"fiberlab/sched"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

// givesUp is what the tests of workers that give their threads up run over.
func givesUp(workers ...int) suite.Over {
	return suite.Over{Workers: workers, Only: suite.GivesThreadsUp}
}

// migrates is givesUp where a worker leaves its thread even while a task of it is blocked.
func migrates(workers ...int) suite.Over {
	return suite.Over{Workers: workers, Only: func(cfg sched.Config) bool {
		return suite.GivesThreadsUp(cfg) && suite.Migrates(cfg.Policy)
	}}
}

// threadOfTask is the thread that the next task of s runs on.
func threadOfTask(t *testing.T, s *sched.Scheduler) (thread int) {
	t.Helper()
	schedtest.Perform(t, s, func() { thread = tid() })
	return thread
}

// fewHolders is how many goroutines look for a worker's thread that should not be idle.
const fewHolders = 8

// whileHeld calls f while a goroutine is locked to that thread, so that no worker can be tied to it. To get there it
// locks at most holders goroutines to a thread each. It returns false if none of them came to that thread: a worker may
// still have it, or more threads are idle than holders.
func whileHeld(thread, holders int, f func()) (held bool) {
	for range holders {
		release, held := threadtest.Hold(thread)
		defer release()
		if held {
			f()
			return true
		}
	}
	return false
}

// whileAway is whileHeld, and tries again until the worker of s, which has run a task on that thread, has left it. The
// runtime uses the thread first that was idle last. So the one that the worker has left may lie below many others, and
// each further try holds one more.
func whileAway(t *testing.T, thread int, f func()) {
	t.Helper()
	threads, err := os.ReadDir("/proc/self/task")
	require.NoError(t, err)
	for i := range 10_000 {
		if whileHeld(thread, min(fewHolders+i, max(fewHolders, len(threads))), f) {
			return
		}
		time.Sleep(time.Millisecond)
	}
	require.Fail(t, "an idle worker has kept its thread")
}

// waits schedules a task that waits, and that notes the thread it runs on before and after.
func waits(t *testing.T, s *sched.Scheduler, before, after *int) *schedtest.Sleeper {
	waiter := schedtest.NewSleeper()
	schedtest.Schedule(t, s, func() {
		*before = tid()
		waiter.Task()
		*after = tid()
	})
	return waiter
}

// A worker that has nothing to do leaves its thread to others, and continues on another one, with new tasks and with
// fibers that wait.
func TestIdleWorkerGivesItsThreadUp(t *testing.T) {
	migrates(1).Run(t, func(t *testing.T, cfg sched.Config) {
		suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			for range suite.Scaled(20, 4) {
				var before, after int
				waiter := waits(t, s, &before, &after)
				waiter.Begun.Wait()
				whileAway(t, before, func() {
					require.NotEqual(t, before, threadOfTask(t, s))
					waiter.Wake()
					waiter.Over.Wait()
				})
				schedtest.Perform(t, s, func() {}) // the waiter's task has ended before
				require.NotEqual(t, before, after)
			}
		})
	})
}

// Where fibers stay with their worker, an idle worker leaves its thread too, but not while a task is blocked there.
func TestIdleWorkerKeepsTheThreadOfABlockedTask(t *testing.T) {
	suite.Over{Workers: []int{1}, Only: func(cfg sched.Config) bool {
		return suite.GivesThreadsUp(cfg) && suite.Stay(cfg)
	}}.Run(t, func(t *testing.T, cfg sched.Config) {
		suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			for range suite.Scaled(10, 3) {
				var before, after int
				waiter := waits(t, s, &before, &after)
				waiter.Blocked()
				for range 3 {
					require.False(t, whileHeld(before, fewHolders, func() {}), "the worker has left the thread of a blocked task")
					require.Equal(t, before, threadOfTask(t, s))
				}
				waiter.Wake()
				waiter.Over.Wait()
				schedtest.Perform(t, s, func() {}) // the waiter's task has ended before
				require.Equal(t, before, after)
				whileAway(t, threadOfTask(t, s), func() {})
			}
		})
	})
}

// What may count on a worker's thread keeps the worker there.
func TestWorkersThatKeepTheirThreads(t *testing.T) {
	for name, keep := range map[string]struct {
		config func(cfg *sched.Config)
		begin  func(t *testing.T, s *sched.Scheduler)
	}{
		"KeepThreads": {config: func(cfg *sched.Config) { cfg.KeepThreads = true }},
		"Affinity":    {config: func(cfg *sched.Config) { cfg.Affinity = anyOf(allowedCPUs(t)...) }},
		"Initializer": {config: func(cfg *sched.Config) { cfg.Initializer = func(int) {} }},
		"SameThread": {begin: func(t *testing.T, s *sched.Scheduler) {
			done := make(chan struct{})
			require.NoError(t, s.EnqueueOn(0, sched.Task{Func: func() { close(done) }}))
			<-done
		}},
		"SameThread inside of a task": {begin: func(t *testing.T, s *sched.Scheduler) {
			schedtest.Perform(t, s, func() {
				assert.NoError(t, s.Enqueue(sched.Task{Flags: sched.SameThread, Func: func() {}}))
				sched.Yield()
			})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			givesUp(1).Run(t, func(t *testing.T, cfg sched.Config) {
				if keep.config != nil {
					keep.config(&cfg)
				}
				suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
					if keep.begin != nil {
						keep.begin(t, s)
					}
					thread := threadOfTask(t, s)
					for range suite.Scaled(20, 5) {
						require.False(t, whileHeld(thread, fewHolders, func() {}), "the worker has left its thread")
						require.Equal(t, thread, threadOfTask(t, s))
						time.Sleep(time.Millisecond)
					}
				})
			})
		})
	}
}

// Threads go back to the runtime as they were: with their names, and with the slack of their timers.
func TestThreadsComeBackAsTheyWere(t *testing.T) {
	name, slack := threadNameOf(tid()), timerSlack(t)
	givesUp(1, 2).Run(t, func(t *testing.T, cfg sched.Config) {
		suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			schedtest.HoldWorkers(t, s, cfg.Workers, func(int) {
				for range 5 {
					sched.Sleep(time.Millisecond)
					assert.Equal(t, slack, timerSlack(t))
					assert.Equal(t, name, threadNameOf(tid()))
				}
			})
		})
	})
}
