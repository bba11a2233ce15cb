package sched

import (
	"container/heap"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Two queues against two slices, with values moving from one to the other.
func TestQueueAgainstSlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var queues [2]queue[int]
		var slices [2][]int
		next := 0
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				at := rapid.IntRange(0, 1).Draw(t, "queue")
				for range rapid.IntRange(1, 400).Draw(t, "count") {
					queues[at].push(next)
					slices[at] = append(slices[at], next)
					next++
				}
			},
			"pop": func(t *rapid.T) {
				at := rapid.IntRange(0, 1).Draw(t, "queue")
				for range min(rapid.IntRange(1, 400).Draw(t, "count"), len(slices[at])) {
					require.Equal(t, slices[at][0], queues[at].peek())
					require.Equal(t, slices[at][0], queues[at].pop())
					slices[at] = slices[at][1:]
				}
			},
			"move": func(t *rapid.T) {
				from := rapid.IntRange(0, 1).Draw(t, "queue")
				n := rapid.IntRange(0, len(slices[from])).Draw(t, "count")
				queues[from].moveTo(&queues[1-from], n)
				slices[1-from] = append(slices[1-from], slices[from][:n]...)
				slices[from] = slices[from][n:]
			},
			"": func(t *rapid.T) {
				for at := range queues {
					require.Equal(t, len(slices[at]), queues[at].count)
					require.Equal(t, len(slices[at]) == 0, queues[at].empty())
				}
			},
		})
		for at := range queues {
			for _, want := range slices[at] {
				require.Equal(t, want, queues[at].pop())
			}
		}
	})
}

// A task that has been popped can be collected.
func TestQueueForgetsWhatWasPopped(t *testing.T) {
	var q queue[*int]
	for range 2*blockSize + 1 {
		q.push(new(int))
	}
	for !q.empty() {
		q.pop()
	}
	blocks := 0
	for _, list := range []*block[*int]{q.head, q.spare} {
		for b := list; b != nil; b = b.next {
			blocks++
			for _, p := range b.values {
				require.Nil(t, p)
			}
		}
	}
	require.Equal(t, 3, blocks, "blocks are kept")
}

// The heap against a sorted slice; deadlines that are equal count as one.
func TestWaitingFibersAgainstSlice(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	var w waitingFibers
	var model []*Fiber
	byDeadline := func(a, b *Fiber) int { return int(a.deadline - b.deadline) }
	for range 20_000 {
		switch r.IntN(3) {
		case 0:
			f := &Fiber{}
			w.add(f, instant(r.IntN(1000)))
			model = append(model, f)
		case 1:
			if len(model) > 0 {
				i := r.IntN(len(model))
				w.remove(model[i])
				model = slices.Delete(model, i, i+1)
			}
		case 2:
			by := instant(r.IntN(1000))
			f := w.take(by)
			if len(model) == 0 || slices.MinFunc(model, byDeadline).deadline > by {
				require.Nil(t, f)
				break
			}
			require.Equal(t, slices.MinFunc(model, byDeadline).deadline, f.deadline)
			i := slices.Index(model, f)
			require.GreaterOrEqual(t, i, 0, "a fiber that was not there")
			model = slices.Delete(model, i, i+1)
		}
		require.Equal(t, len(model) == 0, w.empty())
		want := never
		if len(model) > 0 {
			want = slices.MinFunc(model, byDeadline).deadline
		}
		require.Equal(t, want, w.next())
	}
	for i, f := range w.fibers {
		require.Equal(t, i, f.position)
	}
	heap.Init(&w.fibers)
}

func TestInstants(t *testing.T) {
	require.Equal(t, never, after(1<<63-1))
	require.Less(t, after(-1<<63), now())
	require.LessOrEqual(t, now(), after(0))
}
