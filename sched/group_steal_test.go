package sched

import (
	"testing"

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
	task.Flags |= flags
	require.True(t, g.submit(runnable{task: task}, nil))
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
		w, p := idle.workers[0], idle.workers[0].scheduler.policy
		p.endSleep(w)
		idle.workers[1].fallAsleep()
		want := []int(nil)
		if own {
			idle.submitFlags(t, GroupLocal)
			idle.workers[1].scheduler.policy.endSleep(idle.workers[1]) // it was claimed for that
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

// A thief that has stolen for long, and then finds nothing, looks at each group once and goes on.
func TestThiefThatStoleMuchLooksOnce(t *testing.T) {
	first, second := twoGroups(t, nil)
	thief := &second.members[0].victims
	thief.looks = 1 << 50 // as after so many steals
	looked := make(chan struct{})
	go func() {
		defer close(looked)
		thief.steal()
	}()
	finishes(t, looked, "the thief looks at one group again and again")
	first.submitFlags(t, 0)
	require.True(t, second.members[0].seek(true))
}
