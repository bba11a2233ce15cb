package sched

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// twoGroups are the groups of four workers whose threads have not been started: 0 and 1, 2 and 3.
func twoGroups(t *testing.T, stealEvery func(thief, victim int) int) (first, second *group) {
	t.Helper()
	w, _ := plantedWith(t, Config{Workers: 4, Policy: Group, Groups: Groups{Size: 2, StealEvery: stealEvery}})
	all := w.scheduler.policy.(*groups).all
	require.Len(t, all, 2)
	return all[0], all[1]
}

func (g *group) submitFlags(t *testing.T, flags Flags) {
	t.Helper()
	task := someTask
	task.flags |= flags
	require.True(t, g.submit(task, nil))
}

// A task that finds the workers of its group busy wakes one of another group, which takes it before it sleeps again.
func TestBusyGroupWakesAThief(t *testing.T) {
	busy, idle := twoGroups(t, nil)
	idle.workers[1].fallAsleep()
	busy.submitFlags(t, 0)
	requireWoken(t, idle, []int{1}, []int{1}, "a worker of the group that steals")
	require.Zero(t, busy.none.Load())
	require.True(t, idle.members[1].seek(true), "the last look")
	require.EqualValues(t, 1, idle.shared.waiting())
	require.EqualValues(t, 1, idle.members[1].across.load())
}

// What a worker has stolen can be stolen from it: the worker takes what has come to its own group at the same time,
// say, and does not end.
func TestStolenTaskStaysInReach(t *testing.T) {
	first, second := twoGroups(t, nil)
	first.submitFlags(t, 0)
	require.True(t, second.members[0].seek(true))
	second.submitFlags(t, 0)
	_, ok := second.members[0].next()
	require.True(t, ok)
	require.True(t, first.members[0].seek(true), "one of two is left")
}

// A worker of its own group comes first.
func TestIdleGroupWakesNoThief(t *testing.T) {
	first, second := twoGroups(t, nil)
	first.workers[1].fallAsleep()
	second.workers[0].fallAsleep()
	first.submitFlags(t, 0)
	requireWoken(t, first, []int{1}, []int{1}, "of its own group")
	requireWoken(t, second, []int{0}, nil, "none is needed")
}

// No thief is woken for an entry that it must leave: one that is local to the group, or that StealEvery keeps it from.
func TestNoThiefIsWokenInVain(t *testing.T) {
	for name, c := range map[string]struct {
		every func(int, int) int
		flags Flags
	}{"local": {nil, GroupLocal}, "never": {func(int, int) int { return 0 }, 0}} {
		busy, idle := twoGroups(t, c.every)
		idle.workers[0].fallAsleep()
		busy.submitFlags(t, c.flags)
		requireWoken(t, idle, []int{0}, nil, name)
		require.EqualValues(t, 1, busy.none.Load(), name)
		require.False(t, idle.members[0].seek(true), name)
	}
}

// A worker that spins looks at another group each nth time only; in its last look it does in any case.
func TestLastLookIsAtEveryGroup(t *testing.T) {
	busy, idle := twoGroups(t, nil)
	busy.submitFlags(t, 0)
	for range DefaultStealEvery - 1 {
		require.False(t, idle.members[0].seek(false))
	}
	require.True(t, idle.members[1].seek(true), "at the first look")
	busy.submitFlags(t, 0)
	require.True(t, idle.members[0].seek(false), "at the 16th look")
}

// A worker that was woken for another group and has work of its own wakes the next one.
func TestThiefPassesTheWakeOn(t *testing.T) {
	for _, own := range []bool{false, true} {
		busy, idle := twoGroups(t, nil)
		idle.workers[0].fallAsleep()
		busy.submitFlags(t, 0)
		idle.workers[0].endSleep(false)
		idle.workers[1].fallAsleep()
		want := []int(nil)
		if own {
			idle.submitFlags(t, GroupLocal)
			idle.workers[1].endSleep(false) // it was claimed for that
			idle.workers[1].fallAsleep()
			want = []int{1}
		} else {
			require.True(t, idle.members[0].seek(true))
		}
		idle.leave(0)
		requireWoken(t, idle, []int{1}, want, "what the busy group has")
		require.Equal(t, own, idle.called.Load(), "the one that is woken has been called too")
	}
}

// A local entry hides what is behind it from thieves. The worker that takes the entry wakes one.
func TestLocalEntryUncoversWhatIsBehind(t *testing.T) {
	busy, idle := twoGroups(t, nil)
	busy.submitFlags(t, GroupLocal)
	busy.submitFlags(t, 0)
	require.False(t, idle.members[0].seek(true), "behind a local entry")
	idle.workers[0].fallAsleep()
	_, ok := busy.members[0].next()
	require.True(t, ok)
	requireWoken(t, idle, []int{0}, []int{0}, "the first is one that can be stolen")
	require.True(t, idle.members[0].seek(true))
	_, ok = busy.members[0].next()
	require.False(t, ok)
}

// A worker looks at each victim in its turn, and at one that had something until that is empty.
func TestStealRatios(t *testing.T) {
	for _, c := range []struct {
		every, tasks []int // of each victim
		looks        int
		steals       []int // expected of each victim
		next         []int // at which look each one's turn comes next
	}{
		{[]int{1}, []int{0}, 5, []int{0}, []int{6}},
		{[]int{1}, []int{9}, 5, []int{5}, []int{6}}, // it had something in the last look
		{[]int{3}, []int{9}, 2, []int{0}, []int{3}},
		{[]int{3}, []int{2}, 4, []int{2}, []int{5}}, // at the looks 3 and 4
		{[]int{3}, []int{2}, 5, []int{2}, []int{6}},
		{[]int{3, 5}, []int{0, 0}, 30, []int{0, 0}, []int{33, 35}},
		{[]int{3, 5}, []int{0, 4}, 30, []int{0, 4}, []int{33, 35}},
		{[]int{2, 7}, []int{3, 1}, 7, []int{3, 1}, []int{8, 8}}, // 2, 3 and 4; 7
		{[]int{2, 2}, []int{1, 1}, 3, []int{1, 1}, []int{4, 4}}, // one turn for both: at the looks 2 and 3
		{[]int{4, 6, 10}, []int{1, 1, 1}, 60, []int{1, 1, 1}, []int{64, 66, 70}},
	} {
		t.Run(fmt.Sprintf("every %v of %v in %d", c.every, c.tasks, c.looks), func(t *testing.T) {
			m := &member{group: filled(0), worker: new(Worker)}
			for i, every := range c.every {
				m.victims = append(m.victims, victim{from: filled(c.tasks[i]), every: every})
			}
			stolen := 0
			for range c.looks {
				if m.steal(false) {
					stolen++
				}
			}
			total := 0
			for i, v := range m.victims {
				assert.EqualValues(t, c.tasks[i]-c.steals[i], v.from.shared.waiting(), "left in victim %d", i)
				total += c.steals[i]
				next := m.misses + 1
				for !v.due && next%v.every != 0 {
					next++
				}
				assert.Equal(t, c.next[i], next, "the next turn of victim %d", i)
			}
			assert.Equal(t, total, stolen)
			assert.EqualValues(t, total, m.across.load())
			assert.EqualValues(t, total, m.group.shared.waiting())
		})
	}
}

// Where StealEvery says 0 or less, no group steals.
func TestNoStealEvery(t *testing.T) {
	for name, every := range map[string]func(int, int) int{
		"0": func(int, int) int { return 0 }, "-1": func(int, int) int { return -1 },
	} {
		s, err := New(Config{Workers: 3, Policy: Group, Groups: Groups{Size: 1, StealEvery: every}})
		require.NoError(t, err)
		for i, g := range s.policy.(*groups).all {
			assert.Empty(t, g.members[0].victims, "%s: group %d", name, i)
		}
		require.NoError(t, s.Close())
	}
}

// Without StealEvery each group steals from each other one at the default rate.
func TestDefaultStealEvery(t *testing.T) {
	s, err := New(Config{Workers: 3, Policy: Group, Groups: Groups{Size: 1}})
	require.NoError(t, err)
	require.NoError(t, s.Close()) // the queues of victims belong to the workers
	for i, g := range s.policy.(*groups).all {
		assert.Len(t, g.members[0].victims, 2, "group %d", i)
		for _, v := range g.members[0].victims {
			assert.Equal(t, DefaultStealEvery, v.every, "group %d", i)
		}
		assert.Len(t, g.thieves, 2, "group %d", i)
	}
}

// StealEvery is asked for each two groups, and what it says holds for each worker of the thief.
func TestStealEveryTwoGroups(t *testing.T) {
	s, err := New(Config{
		Workers: 5, Policy: Group,
		Groups: Groups{Size: 2, StealEvery: func(thief, victim int) int { return 10*thief + victim }},
	})
	require.NoError(t, err)
	require.NoError(t, s.Close()) // the queues of victims belong to the workers
	all := s.policy.(*groups).all
	for thief, g := range all {
		for i, m := range g.members {
			got := map[int]int{}
			for _, v := range m.victims {
				for victim, other := range all {
					if v.from == other {
						got[victim] = v.every
					}
				}
			}
			want := map[int]int{}
			for victim := range all {
				if victim != thief {
					want[victim] = 10*thief + victim
				}
			}
			assert.Equal(t, want, got, "worker %d of group %d", i, thief)
		}
	}
}
