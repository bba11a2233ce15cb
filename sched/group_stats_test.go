package sched

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/internal/idle"
)

// filled is a group in whose shared queue so many tasks wait.
func filled(tasks int) *group {
	g := &group{shared: newRunQueue(1), idle: idle.NewSet(nil, 0, nil)}
	for range tasks {
		g.shared.push(runnable{task: job{Func: func() {}}}, false)
	}
	return g
}

// A worker looks at each other group each n-th time that it finds nothing in its own, and stays with one that has
// something until that is empty. Of looks and thefts nothing is left to chance.
func TestStealRatios(t *testing.T) {
	for _, c := range []struct {
		every, tasks []int // of each victim
		looks        int
		steals       []int // expected of each victim
		next         []int // at which look each one's turn comes next
	}{
		{[]int{1}, []int{0}, 5, []int{0}, []int{6}},
		{[]int{1}, []int{9}, 5, []int{5}, []int{1}}, // it has had something since the first look
		{[]int{3}, []int{9}, 2, []int{0}, []int{3}},
		{[]int{3}, []int{2}, 4, []int{2}, []int{3}}, // at the looks 3 and 4
		{[]int{3}, []int{2}, 5, []int{2}, []int{6}},
		{[]int{3, 5}, []int{0, 0}, 30, []int{0, 0}, []int{33, 35}},
		{[]int{3, 5}, []int{0, 4}, 30, []int{0, 4}, []int{33, 35}},
		{[]int{2, 7}, []int{3, 1}, 7, []int{3, 1}, []int{8, 7}}, // 2, 3 and 4; 7
		{[]int{4, 6, 10}, []int{1, 1, 1}, 60, []int{1, 1, 1}, []int{64, 66, 70}},
	} {
		t.Run(fmt.Sprintf("every %v of %v in %d", c.every, c.tasks, c.looks), func(t *testing.T) {
			m := new(member)
			var from []*group
			for i, every := range c.every {
				from = append(from, filled(c.tasks[i]))
				m.victims.add(from[i], every)
			}
			stolen := 0
			for range c.looks {
				if _, ok := m.victims.steal(); ok {
					stolen++
				}
			}
			total := 0
			for i, g := range from {
				assert.EqualValues(t, c.tasks[i]-c.steals[i], g.shared.waiting(), "left in victim %d", i)
				total += c.steals[i]
				for _, v := range m.victims.list {
					if v.from == g {
						assert.Equal(t, c.next[i], v.next, "the next turn of victim %d", i)
					}
				}
			}
			assert.Equal(t, total, stolen)
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
			assert.Empty(t, g.members[0].victims.list, "%s: group %d", name, i)
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
		assert.Len(t, g.members[0].victims.list, 2, "group %d", i)
		for _, v := range g.members[0].victims.list {
			assert.Equal(t, DefaultStealEvery, v.every, "group %d", i)
		}
		assert.Len(t, g.thieves, 2, "group %d", i)
	}
}

// StealEvery is asked for each two groups, and what it says holds for each worker of the thief.
func TestStealEveryTwoGroups(t *testing.T) {
	s, err := New(
		Config{
			Workers: 5, Policy: Group,
			Groups: Groups{Size: 2, StealEvery: func(thief, victim int) int { return 10*thief + victim }},
		},
	)
	require.NoError(t, err)
	require.NoError(t, s.Close()) // the queues of victims belong to the workers
	all := s.policy.(*groups).all
	for thief, g := range all {
		for i, m := range g.members {
			got := map[int]int{}
			for _, v := range m.victims.list {
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

// Each 64th entry has its time taken, whichever way it leaves the queue.
func TestQueueSamples(t *testing.T) {
	g := filled(0)
	for range 100 {
		g.shared.push(runnable{task: job{Func: func() {}}}, false)
	}
	for i := range 100 {
		take := g.shared.pop
		if i%2 == 0 {
			take = g.shared.steal
		}
		_, ok := take()
		require.True(t, ok)
	}
	_, ok := g.shared.pop()
	require.False(t, ok)
	got := g.stats(0)
	assert.Equal(t, QueueStats{Length: 0, Greatest: 100}, got.Shared)
	assert.EqualValues(t, 100/sampleEvery, got.Ready.Count)
	assert.LessOrEqual(t, got.Ready.Median, got.Ready.P99)
	assert.LessOrEqual(t, got.Ready.P99, got.Ready.Greatest)
	assert.Positive(t, got.Ready.Greatest)
}

// What a wake-up counts as, and that only that of a sleeper has a latency: from the claim until it wakes.
func TestCountedWakes(t *testing.T) {
	words := make([]*idle.Word, 8)
	for i := range words {
		words[i] = idle.New(fiber.Locked)
	}
	g := filled(0)
	g.idle = idle.NewSet(words, 2, nil)
	fallAsleep := func(i int) {
		words[i].Look()
		g.idle.BeginSleep(i)
	}
	count := func() [3]uint64 {
		s := g.stats(0)
		return [3]uint64{s.NoWorker, s.Spinners, s.Sleepers}
	}
	push := func() { assert.True(t, g.submit(runnable{task: job{Func: func() {}}}, nil)) }
	push()
	assert.Equal(t, [3]uint64{1, 0, 0}, count(), "all are busy")
	words[3].Look()
	g.idle.BeginSpin(3)
	assert.True(t, g.idle.WakeOne())
	assert.Equal(t, [3]uint64{1, 1, 0}, count(), "one spins")
	fallAsleep(5)
	assert.True(t, g.idle.WakeOne())
	time.Sleep(time.Millisecond)
	assert.True(t, g.idle.EndSleep(5), "it was claimed")
	assert.Equal(t, [3]uint64{1, 1, 1}, count(), "one sleeps")
	assert.EqualValues(t, 1, g.stats(0).Wake.Count)
	assert.GreaterOrEqual(t, g.stats(0).Wake.Greatest, time.Millisecond)

	fallAsleep(5)
	assert.False(t, g.idle.EndSleep(5), "it woke by itself")
	assert.EqualValues(t, 1, g.stats(0).Wake.Count, "a wake that no task asked for")

	fallAsleep(5)
	words[5].Work() // it has been notified for something else
	push()
	assert.Equal(t, [3]uint64{2, 1, 1}, count(), "the only one has been notified already")
	assert.True(t, g.idle.EndSleep(5))
	assert.EqualValues(t, 1, g.stats(0).Wake.Count, "a wake that another one made")
	fallAsleep(5)
	assert.True(t, g.idle.WakeThat(5))
	assert.False(t, g.idle.WakeThat(5))
	assert.Equal(t, [3]uint64{2, 1, 2}, count(), "one in particular")
}
