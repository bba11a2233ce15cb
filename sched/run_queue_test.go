package sched

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"fiberlab/internal/idle"
)

// numbered is a task that is known by its number.
func numbered(n int, flags Flags) runnable {
	return ofTask(func() { panic(n) }, flags)
}

func number(r runnable) (n int) {
	defer func() { n = recover().(int) }()
	call, _ := r.function()
	call()
	return 0
}

// manyEntries is less than a block of a queue.
const manyEntries = 128

// A run queue against a slice.
func TestRunQueueModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q, next := new(runQueue), 0
		var model []runnable
		add := func(flags Flags) runnable {
			next++
			r := numbered(next, flags)
			model = append(model, r)
			return r
		}
		take := func(t *rapid.T, name string, take func() (runnable, bool), may bool) {
			r, ok := take()
			require.Equal(t, may, ok, name)
			if ok {
				require.True(t, model[0] == r, name)
				model = model[1:]
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				for range rapid.IntRange(1, 2*manyEntries).Draw(t, "count") {
					r := add(rapid.SampledFrom([]Flags{0, 0, 0, GroupLocal}).Draw(t, "flags"))
					require.True(t, q.push(r, false))
				}
			},
			"pop": func(t *rapid.T) {
				for range rapid.IntRange(1, 2*manyEntries).Draw(t, "count") {
					take(t, "pop", q.pop, len(model) > 0)
				}
			},
			"push a fiber": func(t *rapid.T) {
				r := ofFiber(new(Fiber))
				model = append(model, r)
				require.True(t, q.push(r, false))
			},
			"pop a fiber": func(t *rapid.T) {
				past := rapid.Bool().Draw(t, "past tasks")
				at := slices.IndexFunc(model, func(r runnable) bool { return r.fiber() != nil })
				if !past && at > 0 || at < 0 {
					require.Nil(t, q.popFiber(past))
					return
				}
				require.Same(t, model[at].fiber(), q.popFiber(past))
				model = slices.Delete(model, at, at+1)
			},
			"steal": func(t *rapid.T) {
				take(t, "steal", q.steal, len(model) > 0 && !model[0].groupLocal())
			},
			"refuse": func(t *rapid.T) {
				q.closed = true
				require.False(t, q.push(numbered(0, 0), false))
				q.closed = false
			},
			"": func(t *rapid.T) {
				require.Equal(t, len(model), q.waiting())
				require.Equal(t, len(model) == 0, q.empty())
			},
		})
	})
}

// Several push, and several pop and steal. Each entry comes out once, and what one has
// pushed comes out in order.
func TestRunQueueLosesNothing(t *testing.T) {
	const pushers, poppers, each = 3, 3, 20_000
	q := new(runQueue)
	var pushing, popping sync.WaitGroup
	var pushed atomic.Bool // all
	for p := range pushers {
		pushing.Add(1)
		go func() {
			defer pushing.Done()
			for i := range each {
				q.push(numbered(p*each+i, 0), false)
			}
		}()
	}
	got := make([][]int, poppers)
	for k := range poppers {
		popping.Add(1)
		go func() {
			defer popping.Done()
			for {
				take, last := q.pop, pushed.Load()
				if len(got[k])%2 == 1 {
					take = q.steal
				}
				if r, ok := take(); ok {
					got[k] = append(got[k], number(r))
				} else if last {
					return
				}
			}
		}()
	}
	pushing.Wait()
	pushed.Store(true)
	popping.Wait()
	require.True(t, q.empty())
	var all []int
	for _, numbers := range got {
		last := [pushers]int{-1, -1, -1}
		for _, n := range numbers {
			require.Greater(t, n, last[n/each], "overtaken by one that was pushed after it")
			last[n/each] = n
		}
		all = append(all, numbers...)
	}
	slices.Sort(all)
	require.Len(t, all, pushers*each)
	require.Len(t, slices.Compact(all), pushers*each)
}

// One pushes and then looks at the mask of the workers that sleep; another sets its bit and then looks at the queue.
// One of them at least sees the other's.
func TestRunQueueAgainstSleep(t *testing.T) {
	const rounds = 50_000
	set := idle.NewSet([]*idle.Word{idle.New(nil)}, 1, nil)
	q := new(runQueue)
	var round, over atomic.Uint64
	seen := make([]bool, rounds) // entries, by the one that sleeps
	await := func(a *atomic.Uint64, n int) {
		for spins := 1; a.Load() != uint64(n); spins++ {
			if spins%1000 == 0 {
				runtime.Gosched() // there may be one processor
			}
		}
	}
	go func() {
		for n := range rounds {
			await(&round, n+1)
			set.BeginSleep(0)
			seen[n] = !q.empty()
			over.Store(uint64(n + 1))
		}
	}()
	for n := range rounds {
		round.Store(uint64(n + 1))
		q.push(numbered(n, 0), false)
		woken := set.AnyIdle() && set.Claim() == 0 // as stealing does
		await(&over, n+1)
		require.True(t, woken || seen[n], "round %d: an entry waits, and the worker sleeps", n)
		set.EndSleep(0)
		_, ok := q.pop()
		require.True(t, ok)
	}
}

// One pushes and pops in turn, and never takes the last: one entry or two wait. Others see no more and no less,
// whenever they look.
func TestRunQueueWaiting(t *testing.T) {
	q := new(runQueue)
	var over atomic.Bool
	var looking sync.WaitGroup
	q.push(numbered(0, 0), false)
	least, most, empty := []int{1, 1}, make([]int, 2), make([]bool, 2)
	for k := range least {
		looking.Add(1)
		go func() {
			defer looking.Done()
			for !over.Load() {
				n := q.waiting()
				least[k], most[k] = min(least[k], n), max(most[k], n)
				empty[k] = empty[k] || q.empty()
			}
		}()
	}
	for n := range 100_000 {
		q.push(numbered(n, 0), false)
		q.pop()
	}
	over.Store(true)
	looking.Wait()
	require.Equal(t, []int{1, 1}, least)
	require.LessOrEqual(t, slices.Max(most), 2)
	require.Equal(t, []bool{false, false}, empty)
}

// filled is a group in whose shared queue so many tasks wait.
func filled(tasks int) *group {
	g := &group{shared: new(runQueue), idle: idle.NewSet(nil, 0, nil)}
	for range tasks {
		g.shared.push(ofTask(func() {}, 0), false)
	}
	return g
}

// Entries that wait in private queues are pending too.
func TestGroupsCountWhatIsPending(t *testing.T) {
	g := filled(3)
	m := &member{group: g, worker: new(Worker), private: new(runQueue)}
	g.members = []*member{m}
	m.private.push(ofTask(func() {}, 0), true)
	m.private.push(ofTask(func() {}, 0), true)
	p := &groups{all: []*group{g, filled(1)}}
	require.Equal(t, 6, p.pending(nil))
	require.Equal(t, 5, g.waiting())
}
