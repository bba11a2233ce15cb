package demo_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/cmd/fiberlab/demo"
	"fiberlab/sched"
	"fiberlab/sched/forkjoin"
	"fiberlab/tests/internal/suite"
)

// threads are numbers of threads of the pools.
var threads = []int{1, 2, 4, 8}

// With as many parents as threads, or more, the plain pool is stuck, and each of its threads says why.
// The others finish.
func TestDeadlock(t *testing.T) {
	for _, form := range forkjoin.Forms() {
		suite.EachConfig(t, threads, func(t *testing.T, cfg sched.Config) {
			for _, parents := range []int{cfg.Workers, 3 * cfg.Workers} {
				c, err := demo.CompareJoins(demo.JoinOptions{Scheduler: cfg, Form: form, Parents: parents})
				require.NoError(t, err)
				require.True(t, c.Verdict)
				requireStuck(t, cfg.Workers, parents, c.Plain)
				requireFinished(t, cfg.Workers, parents, c.Helping)
				requireFinished(t, cfg.Workers, parents, c.Parking)
				require.Zero(t, c.Parking.Inside, "a task that waits keeps its stack")
				if cfg.Workers == 1 {
					require.Equal(t, parents, c.Helping.Inside, "no other worker could take a child")
				}
			}
		})
	}
}

func requireStuck(t *testing.T, threads, parents int, r demo.JoinRun) {
	t.Helper()
	require.False(t, r.Finished)
	require.Len(t, r.Stuck, threads)
	require.NotEmpty(t, r.Why)
	require.Len(t, r.Entries, 2*threads, "each thread has begun a parent, and that has begun to wait")
	run := map[string]bool{}
	for i, s := range r.Stuck {
		require.Equal(t, i, s.Thread)
		require.False(t, run[s.Runs], "%s runs twice", s.Runs)
		run[s.Runs] = true
		var parent int
		_, err := fmt.Sscanf(s.Runs, "parent %d", &parent)
		require.NoError(t, err)
		require.Equal(t, fmt.Sprintf("child %d", parent), s.Awaits)
		require.Greater(t, s.Queued, parents-threads, "the parents that no thread has begun come first")
		require.LessOrEqual(t, s.Queued, parents)
	}
}

// requireFinished checks that each task has begun and ended once, and the parents not before their children.
func requireFinished(t *testing.T, threads, parents int, r demo.JoinRun) {
	t.Helper()
	require.True(t, r.Finished)
	require.Empty(t, r.Stuck)
	at := map[string]int{}
	for i, e := range r.Entries {
		require.NotContains(t, at, e.Task+" "+e.Does)
		at[e.Task+" "+e.Does] = i
		require.GreaterOrEqual(t, e.Thread, 0)
		require.Less(t, e.Thread, threads)
	}
	require.Len(t, r.Entries, 5*parents)
	for i := range parents {
		parent, child := fmt.Sprintf("parent %d", i+1), fmt.Sprintf("child %d", i+1)
		order := []int{at[parent+" begins"], at[child+" begins"], at[child+" ends"], at[parent+" ends"]}
		require.IsIncreasing(t, order, "%s: %v", parent, r.Entries)
	}
}

// A thread that is free runs the children: then there is nothing to be shown.
func TestNoDeadlock(t *testing.T) {
	suite.EachConfig(t, []int{2, 4, 8}, func(t *testing.T, cfg sched.Config) {
		c, err := demo.CompareJoins(demo.JoinOptions{Scheduler: cfg, Parents: cfg.Workers - 1})
		require.NoError(t, err)
		require.False(t, c.Verdict)
		requireFinished(t, cfg.Workers, cfg.Workers-1, c.Plain)
		require.Zero(t, c.Plain.Inside)
		requireFinished(t, cfg.Workers, cfg.Workers-1, c.Helping)
		requireFinished(t, cfg.Workers, cfg.Workers-1, c.Parking)
	})
}

func TestNothingToCompare(t *testing.T) {
	_, err := demo.CompareJoins(demo.JoinOptions{Parents: 1})
	require.ErrorIs(t, err, demo.ErrCount)
	_, err = demo.CompareJoins(demo.JoinOptions{Scheduler: sched.Config{Workers: 1}})
	require.ErrorIs(t, err, demo.ErrCount)
	_, err = demo.CompareJoins(demo.JoinOptions{Scheduler: sched.Config{Workers: 1, MaxIdle: -1}, Parents: 1})
	require.ErrorIs(t, err, sched.ErrNegative)
	_, err = demo.CompareJoins(demo.JoinOptions{Scheduler: sched.Config{Workers: 1}, Parents: 1, Form: 99})
	require.ErrorIs(t, err, forkjoin.ErrNoForm)
}
