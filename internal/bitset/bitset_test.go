package bitset

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBitset(t *testing.T) {
	require.Equal(t, -1, New(0).Take())
	b := New(130)
	for _, i := range []int{129, 64, 63, 0, 64} {
		b.Add(i)
	}
	b.Remove(63)
	b.Remove(1)
	for _, want := range []int{0, 64, 129, -1, -1} {
		require.Equal(t, want, b.Take())
	}
}

// Each member that was added is taken once, by one of the takers.
func TestBitsetSharesOut(t *testing.T) {
	const members, rounds, takers = 100, 200, 4
	b := New(members)
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
				i := b.Take()
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
				b.Add(i)
			}
		}
	}
	over.Store(true)
	all.Wait()
	for i := range members {
		require.Equal(t, added[i], taken[i].Load(), "member %d", i)
	}
}
