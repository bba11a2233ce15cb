package forkjoin

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// One strand that does all against a slice.
func TestDequeAgainstSlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var d deque[int]
		start := rapid.SampledFrom([]uint64{0, 31, ^uint64(0) - 40}).Draw(t, "first index")
		d.bottom.Store(start)
		d.top.Store(start)
		var items []*int
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				for range rapid.IntRange(1, 3*firstDequeSize).Draw(t, "count") {
					items = append(items, new(int))
					d.push(items[len(items)-1])
				}
			},
			"pop": func(t *rapid.T) {
				for range rapid.IntRange(1, 3*firstDequeSize).Draw(t, "count") {
					if len(items) == 0 {
						require.Nil(t, d.pop())
						continue
					}
					require.Same(t, items[len(items)-1], d.pop())
					items = items[:len(items)-1]
				}
			},
			"steal": func(t *rapid.T) {
				for range rapid.IntRange(1, 3*firstDequeSize).Draw(t, "count") {
					x, again := d.steal()
					require.False(t, again)
					if len(items) == 0 {
						require.Nil(t, x)
						continue
					}
					require.Same(t, items[0], x)
					items = items[1:]
				}
			},
			"": func(t *rapid.T) {
				require.Equal(t, len(items) == 0, d.empty())
				require.Equal(t, len(items), occupied(&d), "a slot with no item is nil")
			},
		})
	})
}

// occupied counts the slots that are not nil.
func occupied[T any](d *deque[T]) (n int) {
	if a := d.array.Load(); a != nil {
		for i := range a.slots {
			if a.slots[i].Load() != nil {
				n++
			}
		}
	}
	return n
}

// Each item comes out once, whoever takes it, and nothing is left in the slots.
func TestDequeGivesEachItemOnce(t *testing.T) {
	const thieves, rounds = 3, 3000
	type item struct{ taken atomic.Int32 }
	var d deque[item]
	var done atomic.Bool
	var thievesEnd sync.WaitGroup
	for range thieves {
		thievesEnd.Add(1)
		go func() {
			defer thievesEnd.Done()
			for !done.Load() {
				if x, _ := d.steal(); x != nil {
					x.taken.Add(1)
				} else {
					runtime.Gosched()
				}
			}
		}()
	}
	var items []*item
	for round := range rounds {
		for range round % 5 {
			items = append(items, new(item))
			d.push(items[len(items)-1])
		}
		for range round % 3 {
			if x := d.pop(); x != nil {
				x.taken.Add(1)
			}
		}
	}
	for !d.empty() {
		if x := d.pop(); x != nil {
			x.taken.Add(1)
		}
	}
	done.Store(true)
	thievesEnd.Wait()
	for i, x := range items {
		require.EqualValues(t, 1, x.taken.Load(), "item %d of %d", i, len(items))
	}
	require.Zero(t, occupied(&d))
}

func BenchmarkDeque(b *testing.B) {
	for name, others := range map[string]int{"TheLast": 0, "OneOfTwo": 1} {
		b.Run(name, func(b *testing.B) {
			var d deque[int]
			x := new(int)
			for range others {
				d.push(x)
			}
			for b.Loop() {
				d.push(x)
				d.pop()
			}
		})
	}
}
