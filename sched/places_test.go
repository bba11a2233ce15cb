package sched

import (
	"testing"

	"fiberlab/internal/queue"

	"github.com/stretchr/testify/require"
)

func TestSpinningSlots(t *testing.T) {
	s := spinning{slots: make([]slot, 2)}
	require.Equal(t, -1, s.take())
	require.Equal(t, 0, s.enter(7))
	require.Equal(t, 1, s.enter(8))
	require.Equal(t, -1, s.enter(9), "both slots are taken")
	first, second := s.take(), s.take()
	require.ElementsMatch(t, []int{7, 8}, []int{first, second})
	require.Equal(t, -1, s.take())
	require.Equal(t, 0, s.enter(9))
	s.leave(0, 7) // its slot has been given to another one
	require.Equal(t, 9, s.take())
	require.Equal(t, 0, s.enter(9))
	s.leave(0, 9)
	require.Equal(t, -1, s.take())
}

// Tasks are spread over all that spin.
func TestSpinningGoesRound(t *testing.T) {
	s := spinning{slots: make([]slot, 3)}
	for worker := range 3 {
		s.enter(worker)
	}
	var order []int
	for range 6 {
		worker := s.take()
		order = append(order, worker)
		s.slots[worker].Store(int64(worker + 1))
	}
	require.Equal(t, []int{0, 1, 2, 0, 1, 2}, order)
}

func TestInboxCloses(t *testing.T) {
	var b inbox
	task := job{Func: func() {}}
	require.True(t, b.put(task))
	require.True(t, b.put(task))
	require.False(t, b.close(), "tasks are waiting")
	var to queue.Queue[job]
	b.take(&to, 1)
	require.Equal(t, int64(1), b.waiting.Load())
	b.take(&to, 5)
	require.Equal(t, 2, to.Len())
	require.Zero(t, b.waiting.Load())
	require.True(t, b.close())
	require.False(t, b.put(task))
	require.True(t, b.close(), "it stays closed")
}
