package sched_test

import (
	"fmt"
	"runtime"
	"slices"
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

// eachGrouping runs test on schedulers of several groups, in both modes. change may change the configuration.
func eachGrouping(t *testing.T, change func(cfg *sched.Config), test func(t *testing.T, s *sched.Scheduler, size int)) {
	t.Helper()
	for _, size := range []int{1, 2, 3} {
		for _, mode := range []sched.GroupMode{sched.BalanceMode, sched.AffinityMode} {
			t.Run(fmt.Sprintf("size=%d/%v", size, mode), func(t *testing.T) {
				suite.Over{
					Policies: []sched.Policy{sched.Group}, Workers: []int{4, 8},
				}.Run(
					t,
					func(t *testing.T, cfg sched.Config) {
						cfg.Groups.Size, cfg.Groups.Mode = size, mode
						if change != nil {
							change(&cfg)
						}
						suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) { test(t, s, size) })
					},
				)
			})
		}
	}
}

// noSteal has no group steal from another one.
func noSteal(cfg *sched.Config) { cfg.Groups.StealEvery = func(int, int) int { return 0 } }

// group is the number of the group that the calling task runs in.
func group() int { return sched.Current().Worker().Group() }

// eventually fails the test if nothing makes done true for a long time. It calls again in between, if that is not nil.
func eventually(t *testing.T, done func() bool, again func(), what string) {
	t.Helper()
	for end := time.Now().Add(schedtest.Standstill); !done(); runtime.Gosched() {
		require.True(t, time.Now().Before(end), what)
		if again != nil {
			again()
		}
	}
}

// A task that is given to a group begins there, under every policy: those without groups are one group.
func TestEnqueueInGroup(t *testing.T) {
	suite.EachConfig(t, suite.SomeWorkers, func(t *testing.T, cfg sched.Config) {
		noSteal(&cfg)
		cfg.Groups.Size = 2
		s, err := sched.New(cfg)
		require.NoError(t, err)
		want := 1
		if cfg.Policy == sched.Group {
			want = (cfg.Workers + 1) / 2
		}
		assert.Equal(t, want, s.Groups())
		var began schedtest.Journal[[2]int]
		for g := range s.Groups() {
			for range 20 {
				enqueue := s.EnqueueInGroup
				if g%2 == 1 {
					enqueue = s.TryEnqueueInGroup
				}
				assert.NoError(t, enqueue(g, sched.Task{Func: func() {
					began.Add([2]int{g, group()})
					if worker := sched.Current().Worker().ID(); cfg.Policy == sched.Group {
						assert.Equal(t, worker/2, group(), "worker %d", worker)
					}
				}}))
			}
		}
		require.NoError(t, s.Close())
		assert.Len(t, began.All(), 20*s.Groups())
		for _, pair := range began.All() {
			assert.Equal(t, pair[0], pair[1], "the group in which a task began")
		}
		assert.ErrorIs(t, s.EnqueueInGroup(0, sched.Task{Func: func() {}}), sched.ErrClosed)
	})
}

// What EnqueueInGroup refuses does not run, and takes no room.
func TestEnqueueInGroupRefuses(t *testing.T) {
	never := sched.Task{Func: func() { t.Error("a task that was refused has run") }}
	pinned := never
	pinned.Flags = sched.SameThread
	suite.EachConfig(t, suite.AnyWorkers, func(t *testing.T, cfg sched.Config) {
		cfg.Groups.Size, cfg.MaxQueued = 1, 2
		suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			for range cfg.MaxQueued + 1 {
				assert.ErrorIs(t, s.EnqueueInGroup(-1, never), sched.ErrNoSuchGroup)
				assert.ErrorIs(t, s.EnqueueInGroup(s.Groups(), never), sched.ErrNoSuchGroup)
				assert.ErrorIs(t, s.TryEnqueueInGroup(s.Groups(), never), sched.ErrNoSuchGroup)
				if cfg.Workers == 0 {
					continue // there is no group
				}
				assert.ErrorIs(t, s.EnqueueInGroup(0, sched.Task{}), sched.ErrNilTask)
				assert.ErrorIs(t, s.EnqueueInGroup(0, pinned), sched.ErrSameThread)
				schedtest.Perform(t, s, func() {
					assert.ErrorIs(t, s.EnqueueInGroup(max(group(), 0), pinned), sched.ErrSameThread)
				})
			}
			if cfg.Workers == 0 {
				assert.Equal(t, -1, sched.Current().Worker().Group(), "a goroutine that is bound is in no group")
			}
		})
	})
}

// EnqueueInGroup waits for room as Enqueue does.
func TestEnqueueInGroupWaitsForRoom(t *testing.T) {
	suite.EachConfig(t, []int{1}, func(t *testing.T, cfg sched.Config) {
		cfg.MaxQueued = 1
		suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			release := hold(t, s)
			over := schedtest.NewLatch(2)
			count := sched.Task{Func: over.Done}
			assert.NoError(t, s.EnqueueInGroup(0, count))
			assert.ErrorIs(t, s.TryEnqueue(count), sched.ErrFull)
			waited := make(chan error, 1)
			go func() { waited <- s.EnqueueInGroup(0, count) }()
			enqueuing(t, s, 1)
			release()
			assert.NoError(t, <-waited)
			over.Wait()
		})
	})
}

// How the workers are divided into groups.
func TestGroupSizes(t *testing.T) {
	for given, size := range map[int]int{0: sched.GroupSize, 1: 1, 3: 3} {
		suite.Over{
			Policies: []sched.Policy{sched.Group}, Workers: []int{1, 4, 7},
		}.Run(
			t,
			func(t *testing.T, cfg sched.Config) {
				noSteal(&cfg)
				cfg.Groups.Size = given
				suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
					require.Equal(t, (cfg.Workers+size-1)/size, s.Groups(), "size %d", given)
					ran := schedtest.NewLatch(s.Groups())
					for g := range s.Groups() {
						assert.NoError(t, s.EnqueueInGroup(g, sched.Task{Func: func() {
							assert.Equal(t, g, group(), "size %d", given)
							assert.Equal(t, g, sched.Current().Worker().ID()/size, "size %d", given)
							ran.Done()
						}}))
					}
					ran.Wait()
				})
			},
		)
	}
}

// Tasks and fibers stay in their group, wherever they are woken from, as long as no group steals: what they enqueue,
// too.
func TestTasksStayInTheirGroup(t *testing.T) {
	eachGrouping(t, noSteal, func(t *testing.T, s *sched.Scheduler, _ int) {
		const each = 30
		over := schedtest.NewLatch(2 * each * s.Groups())
		sleepers := make([]*schedtest.Sleeper, each*s.Groups())
		for i := range sleepers {
			sleepers[i] = schedtest.NewSleeper()
		}
		for i, sleeper := range sleepers {
			g := i % s.Groups()
			// The fiber that wakes this one runs in the next group.
			other := sleepers[(i+1)%len(sleepers)]
			assert.NoError(t, s.EnqueueInGroup(g, sched.Task{Func: func() {
				defer over.Done()
				assert.NoError(t, s.Enqueue(sched.Task{Func: func() {
					defer over.Done()
					assert.Equal(t, g, group(), "a task that a task of the group has enqueued")
					other.Wake()
				}}))
				sleeper.Task()
				assert.Equal(t, g, group(), "after a wait")
				sched.Yield()
				assert.Equal(t, g, group(), "after Yield")
				sched.Sleep(time.Microsecond)
				assert.Equal(t, g, group(), "after Sleep")
			}}))
		}
		over.Wait()
	})
}

// holdGroup keeps every worker of a group until release is called.
func holdGroup(t *testing.T, s *sched.Scheduler, g, workers int) (release func()) {
	t.Helper()
	begun, end := schedtest.NewLatch(workers), make(chan struct{})
	for range workers {
		assert.NoError(
			t, s.EnqueueInGroup(g, sched.Task{Flags: sched.GroupLocal, Func: func() { begun.Done(); <-end }}),
		)
	}
	defer func() {
		if t.Failed() {
			close(end)
		}
	}()
	eventually(t, begun.IsOpen, nil, "not every worker of the group is in a task")
	return sync.OnceFunc(func() { close(end) })
}

// stealFromFirst has the other groups steal from the first one, each nth time that they find nothing.
func stealFromFirst(n int) func(cfg *sched.Config) {
	return func(cfg *sched.Config) {
		cfg.Groups.StealEvery = func(_, victim int) int {
			if victim == 0 {
				return n
			}
			return 0
		}
	}
}

// runOut has a worker of a group run out of work.
func runOut(t *testing.T, s *sched.Scheduler, g int) {
	ran := schedtest.NewLatch(1)
	assert.NoError(t, s.EnqueueInGroup(g, sched.Task{Func: ran.Done}))
	ran.Wait()
}

// If the workers of its group are busy, a task is stolen by a worker of another group that runs out of work. Its fiber
// then goes on in that group, also when the first group is idle. What is GroupLocal is left where it is.
func TestStolenByAnotherGroup(t *testing.T) {
	for _, every := range []int{1, 3} {
		t.Run(fmt.Sprintf("every=%d", every), func(t *testing.T) {
			eachGrouping(t, stealFromFirst(every), func(t *testing.T, s *sched.Scheduler, size int) {
				release := holdGroup(t, s, 0, size)
				defer release()
				var first, second int
				sleeper, over := schedtest.NewSleeper(), schedtest.NewLatch(2)
				assert.NoError(t, s.EnqueueInGroup(0, sched.Task{Func: func() {
					defer over.Done()
					first = group()
					sleeper.Task()
					second = group()
				}}))
				var local atomic.Int64
				local.Store(-1)
				assert.NoError(t, s.EnqueueInGroup(0, sched.Task{Flags: sched.GroupLocal, Func: func() {
					defer over.Done()
					local.Store(int64(group()))
				}}))
				seek := func() { runOut(t, s, s.Groups()-1) }
				eventually(t, sleeper.Begun.IsOpen, seek, "no group has stolen the task")
				for range 10 * every {
					seek()
				}
				assert.EqualValues(t, -1, local.Load(), "group %d has begun what is local to group 0", local.Load())
				release()
				eventually(
					t, func() bool { return local.Load() >= 0 }, nil,
					"the task that is local to its group has not begun",
				)
				sleeper.Wake()
				over.Wait()
				assert.NotZero(t, first, "the group in which the stolen task began")
				assert.Equal(t, first, second, "the group in which it went on")
				assert.Zero(t, local.Load(), "the group of a task that is local to group 0")
			})
		})
	}
}

// A fiber that waits in the shared queue of its group is stolen as a task is, and from then on belongs to the other
// group. There it continues, wherever it is woken from, also when its first group is idle.
func TestStolenFiber(t *testing.T) {
	change := func(cfg *sched.Config) {
		stealFromFirst(1)(cfg)
		cfg.Groups.Mode = sched.BalanceMode
	}
	eachGrouping(t, change, func(t *testing.T, s *sched.Scheduler, size int) {
		moved := 0
		for end := time.Now().Add(schedtest.Standstill / 6); moved == 0 && !t.Failed() && time.Now().Before(end); {
			moved = moveFibers(t, s, size)
		}
		assert.Positive(t, moved, "fibers that went on in another group while their own was busy")
	})
}

// moveFibers has fibers of group 0, whose workers are size, wait twice. After the first time the group is busy, after
// the second one it is not. It returns how many have begun in the group and gone on in another one.
func moveFibers(t *testing.T, s *sched.Scheduler, size int) (moved int) {
	type life struct {
		one, two *schedtest.Sleeper
		groups   []int // before, between and after the two
	}
	lives := make([]*life, size+1) // one at least is not on the main fiber of a worker, which stays there
	over := schedtest.NewLatch(len(lives))
	for i := range lives {
		l := new(life)
		lives[i] = l
		l.one, l.two = schedtest.NewSleeper(), schedtest.NewSleeper()
		assert.NoError(t, s.EnqueueInGroup(0, sched.Task{Func: func() {
			defer over.Done()
			l.groups = append(l.groups, group())
			l.one.Task()
			l.groups = append(l.groups, group())
			l.two.Task()
			l.groups = append(l.groups, group())
		}}))
	}
	for _, l := range lives {
		l.one.Blocked()
	}
	release := holdGroup(t, s, 0, size)
	defer release()
	for _, l := range lives {
		l.one.Wake()
	}
	begun := func() bool {
		return slices.ContainsFunc(lives, func(l *life) bool { return l.two.Begun.IsOpen() })
	}
	eventually(t, begun, func() { runOut(t, s, s.Groups()-1) }, "no group has stolen a fiber")
	release()
	for _, l := range lives {
		l.two.Blocked()
		l.two.Wake()
	}
	over.Wait()
	for _, l := range lives {
		if l.groups[0] == 0 && l.groups[1] != 0 { // what was stolen before it began says nothing
			moved++
			assert.Equal(t, l.groups[1], l.groups[2], "the groups of a fiber after its two waits")
		}
	}
	return moved
}

// Close waits for what every group has: tasks, fibers that are blocked and woken by other groups, and what they
// enqueue.
func TestCloseEndsEveryGroup(t *testing.T) {
	for _, steal := range []bool{false, true} {
		t.Run(fmt.Sprintf("steal=%v", steal), func(t *testing.T) {
			for _, size := range []int{1, 2, 3} {
				suite.Over{
					Policies: []sched.Policy{sched.Group}, Workers: []int{4, 8},
				}.Run(
					t,
					func(t *testing.T, cfg sched.Config) {
						cfg.Groups.Size = size
						noSteal(&cfg)
						if steal {
							cfg.Groups.StealEvery = func(int, int) int { return 2 }
						}
						s, err := sched.New(cfg)
						require.NoError(t, err)
						const each = 20
						var ran atomic.Int64
						last := schedtest.NewLatch(1)
						for i := range each * s.Groups() {
							assert.NoError(t, s.EnqueueInGroup(i%s.Groups(), sched.Task{Func: func() {
								last.Wait()
								assert.NoError(t, s.Go(func() { ran.Add(1) }))
							}}))
						}
						assert.NoError(t, s.EnqueueInGroup(s.Groups()-1, sched.Task{Func: func() {
							sched.Sleep(time.Millisecond)
							last.Done()
						}}))
						require.NoError(t, s.Close())
						assert.EqualValues(t, each*s.Groups(), ran.Load(), "tasks of tasks")
					},
				)
			}
		})
	}
}

// What the groups count adds up, and can be read while they work.
func TestGroupStats(t *testing.T) {
	steal := func(cfg *sched.Config) { cfg.Groups.StealEvery = func(int, int) int { return 2 } }
	eachGrouping(t, steal, func(t *testing.T, s *sched.Scheduler, size int) {
		stop, read := make(chan struct{}), make(chan struct{})
		calm := sync.OnceFunc(func() { close(stop); <-read })
		defer calm()
		go func() {
			var most uint64
			defer close(read)
			for {
				select {
				case <-stop:
					return
				default:
				}
				var done uint64
				for _, g := range s.Stats().Groups {
					done += g.Done
				}
				assert.GreaterOrEqual(t, done, most, "tasks that had ended")
				most = done
				runtime.Gosched()
			}
		}()
		const each = 200
		over := schedtest.NewLatch(each * s.Groups())
		for i := range each * s.Groups() {
			assert.NoError(t, s.EnqueueInGroup(i%s.Groups(), sched.Task{Func: func() {
				sched.Yield()
				over.Done()
			}}))
		}
		over.Wait()
		done := func() (n uint64) {
			for _, g := range s.Stats().Groups {
				n += g.Done
			}
			return n
		}
		eventually(
			t, func() bool { return done() == uint64(each*s.Groups()) }, nil,
			"the tasks that have ended are not all counted",
		)
		calm()
		stats := s.Stats()
		require.Len(t, stats.Groups, s.Groups())
		assert.Zero(t, stats.Pending, "entries that wait in the queues")
		workers, stolen := 0, uint64(0)
		for i, g := range stats.Groups {
			assert.Equal(t, i, g.Group)
			assert.LessOrEqual(t, g.Workers, size)
			workers, stolen = workers+g.Workers, stolen+g.StolenWithin+g.StolenAcross
		}
		assert.Equal(t, len(stats.Workers), workers)
		assert.Equal(t, stats.Stolen, stolen)
	})
}

// A steal is counted where the thief is.
func TestGroupStatsOfSteals(t *testing.T) {
	eachGrouping(t, stealFromFirst(1), func(t *testing.T, s *sched.Scheduler, size int) {
		release := holdGroup(t, s, 0, size)
		defer release()
		const tasks = 10
		var away atomic.Int64
		over := schedtest.NewLatch(tasks)
		for range tasks {
			assert.NoError(t, s.EnqueueInGroup(0, sched.Task{Func: func() {
				if group() != 0 {
					away.Add(1)
				}
				over.Done()
			}}))
		}
		eventually(t, over.IsOpen, func() { runOut(t, s, s.Groups()-1) }, "the tasks were not all stolen")
		stats := s.Stats().Groups
		across := uint64(0)
		for _, g := range stats {
			across += g.StolenAcross
		}
		assert.EqualValues(t, tasks, away.Load(), "tasks that began in another group")
		assert.EqualValues(t, tasks, across, "steals across groups")
		assert.Zero(t, stats[0].StolenAcross, "by the group from which the others steal")
	})
}

// Other policies have no groups to count.
func TestNoGroupStats(t *testing.T) {
	suite.Over{
		Policies: []sched.Policy{sched.Stealing, sched.RoundRobin}, Workers: []int{0, 2},
	}.Run(
		t,
		func(t *testing.T, cfg sched.Config) {
			suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) { assert.Nil(t, s.Stats().Groups) })
		},
	)
}
