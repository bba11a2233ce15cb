package sched_test

import (
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"fiberlab/sched"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

// allowedCPUs are the CPUs that this process may run on.
func allowedCPUs(t *testing.T) []int {
	var set unix.CPUSet
	require.NoError(t, unix.SchedGetaffinity(0, &set))
	return cpusOf(&set)
}

// anyOf lets every worker run on any of the CPUs.
func anyOf(cpus ...int) sched.Affinity { return func(int) []int { return cpus } }

func cpusOf(set *unix.CPUSet) (cpus []int) {
	for cpu := range len(set) * 64 {
		if set.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	return cpus
}

// A thread has its CPUs before the initializer runs, and keeps them.
func TestStartAffinity(t *testing.T) {
	cpus := allowedCPUs(t)
	last := cpus[len(cpus)-1]
	for name, affinity := range map[string]sched.Affinity{
		"all":      anyOf(cpus...),
		"first":    anyOf(cpus[0]),
		"last":     anyOf(last),
		"by turns": func(worker int) []int { i := worker % len(cpus); return cpus[i : i+1] },
	} {
		t.Run(name, func(t *testing.T) {
			suite.Over{Workers: []int{1, 2, 4}, Only: suite.HasThreads}.Run(t, func(t *testing.T, cfg sched.Config) {
				check := func(worker int) {
					var set unix.CPUSet
					assert.NoError(t, unix.SchedGetaffinity(0, &set))
					assert.Equal(t, affinity(worker), cpusOf(&set), "worker %d", worker)
				}
				numbers := make(map[int]int)
				var mu schedtest.Journal[[2]int]
				cfg.Affinity = affinity
				cfg.Initializer = func(worker int) {
					check(worker)
					mu.Add([2]int{tid(), worker})
				}
				suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
					for _, pair := range mu.All() {
						numbers[pair[0]] = pair[1]
					}
					schedtest.HoldWorkers(t, s, cfg.Workers, func(int) { check(numbers[tid()]) })
				})
			})
		})
	}
	assert.Equal(t, cpus, allowedCPUs(t), "of the test's own thread")
}

// Workers that are not locked to threads have no affinity.
func TestAffinityNeedsThreads(t *testing.T) {
	noThreads := func(cfg sched.Config) bool { return !suite.HasThreads(cfg) }
	suite.Over{Workers: suite.SomeWorkers, Only: noThreads}.Run(t, func(t *testing.T, cfg sched.Config) {
		cfg.Affinity = anyOf(allowedCPUs(t)...)
		s, err := sched.New(cfg)
		require.ErrorIs(t, err, sched.ErrAffinity)
		require.Nil(t, s)
	})
}

// An Affinity that calls Goexit, as t.FailNow does, ends the goroutine that called New, and leaves nothing.
func TestAffinityThatEndsItsGoroutine(t *testing.T) {
	suite.EachConfig(t, []int{1, 4}, func(t *testing.T, cfg sched.Config) {
		cfg.Affinity = func(int) []int { runtime.Goexit(); return nil }
		returned, ended := false, make(chan struct{})
		go func() {
			defer close(ended)
			_, err := sched.New(cfg)
			returned = !errors.Is(err, sched.ErrAffinity) // threads are not kept on this backend
		}()
		select {
		case <-ended:
		case <-time.After(schedtest.Standstill):
			require.FailNow(t, "New does not end")
		}
		require.False(t, returned)
	})
}
