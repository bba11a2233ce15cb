package sched

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// numbered is a task that is known by its number.
func numbered(n int, flags Flags) runnable {
	return runnable{task: job{Func: func() {}, Flags: flags, name: nameNumber(n)}}
}

// A run queue against a slice. Blocks come, empty themselves and come again.
func TestRunQueueModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q, next, longest := newRunQueue(1), 0, 0
		var model []runnable
		add := func(flags Flags) runnable {
			next++
			r := numbered(next, flags)
			model = append(model, r)
			longest = max(longest, len(model))
			return r
		}
		take := func(t *rapid.T, name string, take func() (runnable, bool), may bool) {
			r, ok := take()
			require.Equal(t, may, ok, name)
			if ok {
				require.Equal(t, model[0].task.name, r.task.name)
				model = model[1:]
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				for range rapid.IntRange(1, 2*runBlockSize).Draw(t, "count") {
					require.True(t, q.push(add(rapid.SampledFrom([]Flags{0, 0, 0, GroupLocal}).Draw(t, "flags"))))
				}
			},
			"push all": func(t *rapid.T) {
				var all []job
				for range rapid.IntRange(1, 2*runBlockSize).Draw(t, "count") {
					all = append(all, add(0).task)
				}
				require.True(t, q.pushAll(all))
			},
			"pop": func(t *rapid.T) {
				for range rapid.IntRange(1, 2*runBlockSize).Draw(t, "count") {
					take(t, "pop", q.pop, len(model) > 0)
				}
			},
			"steal": func(t *rapid.T) {
				take(t, "steal", q.steal, len(model) > 0 && !model[0].groupLocal())
			},
			"refuse": func(t *rapid.T) {
				q.takers = 0
				require.False(t, q.push(numbered(0, 0)))
				require.False(t, q.pushAll([]job{numbered(0, 0).task}))
				q.takers = 1
			},
			"": func(t *rapid.T) {
				require.Equal(t, len(model), q.waiting())
				require.Equal(t, len(model) == 0, q.empty())
				require.EqualValues(t, longest, q.longest.Load())
			},
		})
	})
}

// Several push and several pop. Each entry comes out once, and what one has pushed comes out in order.
func TestRunQueueLosesNothing(t *testing.T) {
	const pushers, poppers, each = 3, 3, 20_000
	q := newRunQueue(poppers)
	var pushing, popping sync.WaitGroup
	var left atomic.Int64
	left.Store(pushers * each)
	for p := range pushers {
		pushing.Add(1)
		go func() {
			defer pushing.Done()
			for i := range each {
				q.push(numbered(p*each+i, 0))
			}
		}()
	}
	got := make([][]int, poppers)
	for k := range poppers {
		popping.Add(1)
		go func() {
			defer popping.Done()
			for left.Load() > 0 {
				if r, ok := q.pop(); ok {
					got[k] = append(got[k], int(r.task.name))
					left.Add(-1)
				}
			}
		}()
	}
	pushing.Wait()
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
	require.Len(t, slices.Compact(all), pushers*each)
}

// What is pushed with and what is popped with are 128 bytes apart, wherever the queue lies.
func TestRunQueueLayout(t *testing.T) {
	for range 10 {
		q := newRunQueue(1)
		for name, at := range map[string]unsafe.Pointer{
			"queue": unsafe.Pointer(q), "popping": unsafe.Pointer(&q.popping), "spare": unsafe.Pointer(&q.spare),
		} {
			assert.Zero(t, uintptr(at)%128, name)
		}
		assert.EqualValues(t, 384, unsafe.Sizeof(*q))
	}
}
