package queue

import (
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Two queues against two slices.
func TestQueueAgainstSlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var queues [2]Queue[int]
		var slices [2][]int
		next := 0
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				at := rapid.IntRange(0, 1).Draw(t, "queue")
				for range rapid.IntRange(1, 400).Draw(t, "count") {
					queues[at].Push(next)
					slices[at] = append(slices[at], next)
					next++
				}
			},
			"pop": func(t *rapid.T) {
				at := rapid.IntRange(0, 1).Draw(t, "queue")
				for range min(rapid.IntRange(1, 400).Draw(t, "count"), len(slices[at])) {
					require.Equal(t, slices[at][0], queues[at].Peek())
					require.Equal(t, slices[at][0], queues[at].Pop())
					slices[at] = slices[at][1:]
				}
			},
			"swap": func(t *rapid.T) {
				queues[0].Swap(&queues[1])
				slices[0], slices[1] = slices[1], slices[0]
			},
			"": func(t *rapid.T) {
				for at := range queues {
					require.Equal(t, len(slices[at]), queues[at].count)
					require.Equal(t, len(slices[at]) == 0, queues[at].Empty())
				}
			},
		})
		for at := range queues {
			for _, want := range slices[at] {
				require.Equal(t, want, queues[at].Pop())
			}
		}
	})
}

// A task that has been popped can be collected.
func TestQueueForgetsWhatWasPopped(t *testing.T) {
	var q Queue[*int]
	for range 2*blockSize + 1 {
		q.Push(new(int))
	}
	for !q.Empty() {
		q.Pop()
	}
	blocks := 0
	for _, list := range []*block[*int]{q.front.block, q.front.emptied.Load()} {
		for b := list; b != nil; b = b.next {
			blocks++
			for _, p := range b.values {
				require.Nil(t, p)
			}
		}
	}
	require.Equal(t, 3, blocks, "blocks are kept")
	for range 2 * blockSize {
		q.Push(new(int))
	}
	require.Nil(t, q.back.spare, "blocks are filled again")
	require.Nil(t, q.front.emptied.Load(), "blocks are filled again")
}

// One thread pushes while another one pops. Values come in order, and blocks go from one end to the other.
func TestEndsOfTwoThreads(t *testing.T) {
	const values = 100 * blockSize
	var back Back[int]
	var front Front[int]
	var pushed, popped atomic.Int64
	go func() {
		for v := range values {
			for int64(v) > popped.Load()+2*blockSize {
				runtime.Gosched()
			}
			back.Push(v, &front)
			pushed.Store(int64(v + 1))
		}
	}()
	for v := range values {
		for pushed.Load() == int64(v) {
			runtime.Gosched()
		}
		require.Equal(t, v, front.Peek())
		require.Equal(t, v, front.Pop())
		popped.Store(int64(v + 1))
	}
}
