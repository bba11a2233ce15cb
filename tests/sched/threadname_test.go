package sched_test

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"fiberlab/sched"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

// threadNameOf is the name of a thread of this process, or "" if it has ended.
func threadNameOf(thread int) string {
	name, _ := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/comm", thread))
	return strings.TrimSuffix(string(name), "\n")
}

// threadsNamed counts the threads of this process whose names begin with prefix.
func threadsNamed(t *testing.T, prefix string) int {
	threads, err := os.ReadDir("/proc/self/task")
	require.NoError(t, err)
	n := 0
	for _, thread := range threads {
		name, _ := os.ReadFile("/proc/self/task/" + thread.Name() + "/comm")
		if strings.HasPrefix(string(name), prefix) {
			n++
		}
	}
	return n
}

// named counts the schedulers that were given a name: threads of earlier ones may just be ending.
var named atomic.Int32

// Each worker's thread has the scheduler's name and the worker's number, before an
// initializer runs, in tasks and after waits. Other threads keep theirs.
func TestWorkersThreadsHaveNames(t *testing.T) {
	configs := suite.Over{Workers: suite.AnyWorkers, Only: suite.HasThreads}
	configs.Run(t, func(t *testing.T, cfg sched.Config) {
		runtime.LockOSThread() // to ask for the name of the bound thread
		defer runtime.UnlockOSThread()
		own := threadNameOf(tid())
		cfg.Name = fmt.Sprint("named", named.Add(1))
		prefix := cfg.Name + "-w"
		var begun schedtest.Journal[string]
		cfg.Initializer = func(worker int) {
			assert.Equal(t, fmt.Sprint(prefix, worker), threadNameOf(tid()))
			begun.Add(threadNameOf(tid()))
		}
		suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			assert.Equal(t, cfg.Workers, schedtest.Distinct(begun.All()))
			assert.Equal(t, cfg.Workers, threadsNamed(t, prefix))
			if cfg.Workers == 0 {
				schedtest.Perform(
					t, s, func() { assert.Equal(t, own, threadNameOf(tid()), "of a bound goroutine's thread") },
				)
			} else {
				schedtest.HoldWorkers(t, s, cfg.Workers, func(int) {
					sched.Yield()
					assert.Contains(t, begun.All(), threadNameOf(tid()))
				})
			}
			assert.Equal(t, own, threadNameOf(tid()))
		})
		assert.False(t, slices.Contains(begun.All(), own))
		assert.NotContains(t, threadNameOf(unix.Getpid()), prefix, "the process has lost its name")
	})
}

// With several scheduling groups the name has the group as well.
func TestThreadNamesHaveTheGroup(t *testing.T) {
	configs := suite.Over{Policies: []sched.Policy{sched.Group}, Workers: []int{3}, Only: suite.HasThreads}
	configs.Run(t, func(t *testing.T, cfg sched.Config) {
		cfg.Name, cfg.Groups.Size = fmt.Sprint("named", named.Add(1)), 2
		names := make([]string, cfg.Workers)
		cfg.Initializer = func(worker int) { names[worker] = threadNameOf(tid()) }
		suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			assert.Equal(t, []string{cfg.Name + "-g0w0", cfg.Name + "-g0w1", cfg.Name + "-g1w2"}, names)
		})
	})
}

// A thread that the runtime makes while a task runs is none of the workers', nor is
// a thread that is left when the scheduler is closed.
func TestThreadNamesEndWithTheWorkers(t *testing.T) {
	suite.EachConfig(t, []int{4}, func(t *testing.T, cfg sched.Config) {
		cfg.Name = "ends"
		for range suite.Scaled(20, 5) {
			s, err := sched.New(cfg)
			require.NoError(t, err)
			schedtest.Perform(t, s, func() {
				done := make(chan struct{})
				go func() {
					defer close(done)
					assert.NotContains(t, threadNameOf(tid()), "ends-w")
				}()
				<-done
			})
			require.NoError(t, s.Close())
		}
		require.Eventually(
			t, func() bool { return threadsNamed(t, "ends-w") == 0 }, schedtest.Standstill, time.Millisecond,
		)
	})
}
