package sched

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBitset(t *testing.T) {
	require.Equal(t, -1, newBitset(0).take())
	b := newBitset(130)
	for _, i := range []int{129, 64, 63, 0, 64} {
		b.add(i)
	}
	b.remove(63)
	b.remove(1)
	for _, want := range []int{0, 64, 129, -1, -1} {
		require.Equal(t, want, b.take())
	}
}

// Each that was added is taken once, by whomever.
func TestBitsetSharesOut(t *testing.T) {
	const members, rounds, takers = 100, 200, 4
	b := newBitset(members)
	var absent [members]atomic.Bool
	var taken [members]atomic.Int64
	var over atomic.Bool
	var all sync.WaitGroup
	for i := range absent {
		absent[i].Store(true)
	}
	for range takers {
		all.Add(1)
		go func() {
			defer all.Done()
			for {
				last := over.Load()
				i := b.take()
				if i < 0 {
					if last {
						return
					}
					continue
				}
				if absent[i].Swap(true) {
					t.Errorf("%d was taken twice", i)
				}
				taken[i].Add(1)
			}
		}()
	}
	var added [members]int64
	for range rounds {
		for i := range members {
			if absent[i].CompareAndSwap(true, false) {
				added[i]++
				b.add(i)
			}
		}
	}
	over.Store(true)
	all.Wait()
	for i := range members {
		require.Equal(t, added[i], taken[i].Load(), "member %d", i)
	}
}

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
	var to queue[job]
	b.take(&to, 1)
	require.Equal(t, int64(1), b.waiting.Load())
	b.take(&to, 5)
	require.Equal(t, 2, to.count)
	require.Zero(t, b.waiting.Load())
	require.True(t, b.close())
	require.False(t, b.put(task))
	require.True(t, b.close(), "it stays closed")
}
