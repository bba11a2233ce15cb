package queue

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Two queues against two slices, with values moving from one to the other.
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
			"move": func(t *rapid.T) {
				from := rapid.IntRange(0, 1).Draw(t, "queue")
				n := rapid.IntRange(0, len(slices[from])).Draw(t, "count")
				queues[from].MoveTo(&queues[1-from], n)
				slices[1-from] = append(slices[1-from], slices[from][:n]...)
				slices[from] = slices[from][n:]
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
