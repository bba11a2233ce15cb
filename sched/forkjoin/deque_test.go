package forkjoin

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"fiberlab/asm/ctest"
)

// One strand that does all against a slice.
func TestDequeAgainstSlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := new(deque[int])
		if rapid.Bool().Draw(t, "any index") {
			d = dequeOfSize[int](1<<rapid.IntRange(0, 6).Draw(t, "log of size"), rapid.Uint64().Draw(t, "index"))
		}
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
				require.Equal(t, len(items), occupied(d), "a slot with no item is nil")
			},
		})
	})
}

// newRand is a generator whose seed is logged.
func newRand(t *testing.T) *rand.Rand {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// scaled is the size of a heavy test.
func scaled(n int) int {
	if testing.Short() || ctest.Emulated() {
		return n / 10
	}
	return n
}

// dequeOfSize is an empty deque with an array of that size, whose first item will get the index.
func dequeOfSize[T any](size int, index uint64) *deque[T] {
	d := new(deque[T])
	d.array.Store(newDequeArray[T](size))
	d.bottom.Store(index)
	d.top.Store(index)
	return d
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

// stressItem is what the stress test pushes. It is on the heap, and large enough that an item that was freed too early
// is overwritten soon.
type stressItem struct {
	itself *stressItem
	serial int
	taken  atomic.Int32
	_      [6]uint64
}

func (x *stressItem) take(t *testing.T, taken *atomic.Int64) {
	if x.itself != x || x.taken.Add(1) != 1 {
		t.Errorf("item %d: itself: %t, taken %d times", x.serial, x.itself == x, x.taken.Load())
	}
	taken.Add(1)
}

// Each item comes out once, to its strand or to a thief, and nothing stays in the slots, while arrays grow and the
// collector works.
func TestDequeGivesEachItemOnce(t *testing.T) {
	const thieves, itemsEach = 3, 64
	random := newRand(t)
	rounds := scaled(3000)
	var current atomic.Pointer[deque[stressItem]]
	var done atomic.Bool
	var others sync.WaitGroup
	defer others.Wait()
	defer done.Store(true)
	var taken atomic.Int64
	start := func(client func()) {
		others.Add(1)
		go func() {
			defer others.Done()
			for !done.Load() {
				client()
				runtime.Gosched()
			}
		}()
	}
	start(runtime.GC)
	for range thieves {
		var last *deque[stressItem]
		serial := -1
		start(func() {
			d := current.Load()
			if d != last {
				last, serial = d, -1
			}
			for d != nil {
				x, again := d.steal()
				if x == nil && !again {
					return
				}
				if x == nil {
					continue
				}
				if x.serial <= serial {
					t.Errorf("item %d is stolen after item %d", x.serial, serial)
				}
				serial = x.serial
				x.take(t, &taken)
			}
		})
	}
	for round := range rounds {
		d := dequeOfSize[stressItem](1<<random.IntN(6), random.Uint64())
		current.Store(d)
		pop := func() {
			if x := d.pop(); x != nil {
				x.take(t, &taken)
			}
		}
		taken.Store(0)
		for serial := 0; serial < itemsEach; {
			for range min(random.IntN(8), itemsEach-serial) {
				x := &stressItem{serial: serial}
				x.itself = x
				d.push(x)
				serial++
			}
			for range random.IntN(8) {
				pop()
			}
		}
		for !d.empty() {
			pop()
		}
		// a thief may be about to
		for limit := time.Now().Add(time.Minute); taken.Load() < itemsEach; runtime.Gosched() {
			require.True(
				t, time.Now().Before(limit), "round %d: %d of %d items came out", round, taken.Load(), itemsEach,
			)
		}
		require.Zero(t, occupied(d), "round %d", round)
		require.False(t, t.Failed())
	}
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
