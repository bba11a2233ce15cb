package sched_test

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/sched"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

// As many tasks as there are workers may wait for one another, each of them on its thread: groups of different sizes
// use all workers, wherever the tasks come from.
func TestGroupsUseEveryWorker(t *testing.T) {
	sizes := []struct{ workers, size int }{
		{4, 1}, {4, 3}, {7, 2}, {65, sched.GroupSize}, {suite.Scaled(300, 70), sched.GroupSize},
	}
	for name, bring := range map[string]func(t *testing.T, s *sched.Scheduler, n int, task func()){
		"from outside": func(t *testing.T, s *sched.Scheduler, n int, task func()) {
			for range n {
				assert.NoError(t, s.Go(task))
			}
		},
		"from a task": func(t *testing.T, s *sched.Scheduler, n int, task func()) {
			assert.NoError(t, s.Go(func() {
				for range n {
					assert.NoError(t, s.Go(task))
				}
			}))
		},
		"in one group": func(t *testing.T, s *sched.Scheduler, n int, task func()) {
			for range n {
				assert.NoError(t, s.EnqueueInGroup(s.Groups()-1, sched.Task{Func: task}))
			}
		},
	} {
		for _, c := range sizes {
			t.Run(fmt.Sprintf("%s/%d in groups of %d", name, c.workers, c.size), func(t *testing.T) {
				suite.Over{
					Policies: []sched.Policy{sched.Group}, Workers: []int{c.workers},
				}.Run(
					t,
					func(t *testing.T, cfg sched.Config) {
						cfg.Groups.Size = c.size
						suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
							all, end := schedtest.NewLatch(c.workers), make(chan struct{})
							defer close(end)
							bring(t, s, c.workers, func() { all.Done(); <-end })
							eventually(t, all.IsOpen, nil, "tasks wait, although workers have nothing to do")
						})
					},
				)
			})
		}
	}
}

// Tasks from outside are shared among the groups by their sizes: no group is given more than its part of a round.
func TestGroupsShareBySize(t *testing.T) {
	for _, c := range []struct{ workers, size int }{{4, 3}, {7, 2}, {65, sched.GroupSize}} {
		suite.Over{
			Policies: []sched.Policy{sched.Group}, Workers: []int{c.workers},
		}.Run(
			t,
			func(t *testing.T, cfg sched.Config) {
				noSteal(&cfg)
				cfg.Groups.Size = c.size
				s, err := sched.New(cfg)
				require.NoError(t, err)
				const rounds = 4
				for range rounds * c.workers {
					assert.NoError(t, s.Go(func() {}))
				}
				require.NoError(t, s.Close())
				for _, g := range s.Stats().Groups {
					assert.EqualValues(t, rounds*g.Workers, g.Done, "tasks of group %d", g.Group)
				}
			},
		)
	}
}

// A task or a fiber that becomes ready in a group whose workers are busy runs in another group.
func TestReadyBesideABusyGroup(t *testing.T) {
	balance := func(cfg *sched.Config) { cfg.Groups.Mode = sched.BalanceMode }
	eachGrouping(t, balance, func(t *testing.T, s *sched.Scheduler, size int) {
		// one at least is not on the main fiber of a worker, which stays there
		sleepers := make([]*schedtest.Sleeper, size+1)
		var on atomic.Int64
		for i := range sleepers {
			sleepers[i] = schedtest.NewSleeper()
			assert.NoError(t, s.EnqueueInGroup(0, sched.Task{Func: func() {
				sleepers[i].Task()
				on.Add(1)
			}}))
			sleepers[i].Blocked()
		}
		release := holdGroup(t, s, 0, size)
		defer release()
		for _, p := range sleepers {
			p.Wake()
		}
		eventually(t, func() bool { return on.Load() > 0 }, nil, "no fiber has gone on beside a busy group")
	})
}

// A task that is local to its group keeps others from what is behind it only until a worker of the group begins it.
func TestBehindALocalTask(t *testing.T) {
	eachGrouping(t, nil, func(t *testing.T, s *sched.Scheduler, size int) {
		end := make(chan struct{})
		held := holdGroup(t, s, 0, size) // its first worker that is released begins the local task, and is held again
		defer held()
		defer close(end)
		begun, behind := schedtest.NewLatch(size), schedtest.NewLatch(3)
		for range size {
			assert.NoError(
				t, s.EnqueueInGroup(0, sched.Task{Flags: sched.GroupLocal, Func: func() { begun.Done(); <-end }}),
			)
		}
		for range 3 {
			assert.NoError(t, s.EnqueueInGroup(0, sched.Task{Func: behind.Done}))
		}
		held()
		eventually(t, begun.IsOpen, nil, "the local tasks have not begun")
		eventually(t, behind.IsOpen, nil, "what was behind them waits, although other groups have nothing to do")
	})
}

// While the workers of one group are busy, workers of the others go to sleep and wake for tasks of their own. Each task
// of the busy group finds one of them: no wake-up is lost between the groups.
func TestNoWakeIsLostBetweenGroups(t *testing.T) {
	seed := suite.Seed()
	eachGrouping(t, nil, func(t *testing.T, s *sched.Scheduler, size int) {
		r := rand.New(rand.NewPCG(seed, 0))
		release := holdGroup(t, s, 0, size)
		defer release()
		for range suite.Scaled(100, 50) {
			others := r.IntN(4)
			over := schedtest.NewLatch(1 + others)
			stolen := sched.Task{Func: over.Done}
			at := r.IntN(1 + others)
			for i := range 1 + others {
				if i == at {
					assert.NoError(t, s.EnqueueInGroup(0, stolen))
				} else {
					own := sched.Task{Func: over.Done, Flags: sched.GroupLocal}
					assert.NoError(t, s.EnqueueInGroup(1+r.IntN(s.Groups()-1), own))
				}
			}
			eventually(t, over.IsOpen, nil, "a task waits, although workers have nothing to do")
		}
	})
}
