package stack_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"fiberlab/stack"
)

// dirty returns how many bytes from lo up to hi are not zero.
func dirty(lo, hi uintptr) int {
	n := 0
	for _, b := range unsafe.Slice((*byte)(unsafe.Pointer(word(lo))), hi-lo) {
		if b != 0 {
			n++
		}
	}
	return n
}

// soil writes to the stack in some places, the deepest of them at depth bytes below Hi.
func soil(rng *rand.Rand, st *stack.Stack, depth int) {
	*word(st.Hi() - uintptr(depth)) = 1<<64 - 1
	for range 20 {
		*word(st.Hi() - uintptr(8+rng.IntN(depth/8)*8)) = 1<<64 - 1
	}
}

// A pool that clears hands out zeros only, however much of a stack was used.
func TestClearOnPut(t *testing.T) {
	eachGuard(t, func(t *testing.T, kind stack.Guard) {
		seed := uint64(time.Now().UnixNano())
		t.Logf("seed %d", seed)
		rng := rand.New(rand.NewPCG(seed, 0))
		for _, size := range []int{1, 64 << 10, 16 * int(pageSize), 17 * int(pageSize), 1 << 20} {
			for _, maxIdle := range []int{0, -1} {
				p := newPool(t, stack.Options{Guard: kind, Size: size, ClearOnPut: true, MaxIdle: maxIdle})
				for range 60 {
					st := get(t, p)
					require.Zero(t, dirty(st.Lo(), st.Hi()))
					soil(rng, st, 8*(1+rng.IntN(st.Size()/8)))
					require.NoError(t, p.Put(st))
				}
			}
		}
	})
}

// Stacks that were used deeply once do not keep costing more: the pages deeper than usual are given back.
func TestClearingGivesBackWhatLiesDeep(t *testing.T) {
	p := newPool(t, stack.Options{Size: 1 << 20, ClearOnPut: true})
	st := get(t, p)
	soil(rand.New(rand.NewPCG(1, 1)), st, st.Size())
	require.NoError(t, p.Put(st))
	require.True(t, st == get(t, p))
	require.LessOrEqual(t, residentPages(t, st.Lo(), st.Hi()), 17)
	require.LessOrEqual(t, st.HighWater(), 17*int(pageSize))
	require.NoError(t, p.Put(st))
}

// Zero leaves what lies above its limit alone.
func TestZero(t *testing.T) {
	p := newPool(t, stack.Options{Size: 1 << 20})
	st := get(t, p)
	for _, above := range []uintptr{
		0, 1, 64, 777, pageSize, 5 * pageSize, 16 * pageSize, 20*pageSize + 8, uintptr(st.Size()),
	} {
		all := unsafe.Slice((*byte)(unsafe.Pointer(word(st.Lo()))), st.Size())
		for i := range all {
			all[i] = 0xff
		}
		limit := st.Hi() - above
		st.Zero(limit)
		require.Zero(t, dirty(st.Lo(), limit), "%d bytes below Hi", above)
		require.Equal(t, int(above), dirty(limit, st.Hi()))
	}
	require.NoError(t, p.Put(st))
}

func BenchmarkClearOnPut(b *testing.B) {
	for _, pages := range []int{0, 1, 2, 8, 64} {
		for name, clears := range map[string]bool{"kept": false, "cleared": true} {
			b.Run(fmt.Sprintf("%s/%d pages", name, pages), func(b *testing.B) {
				p := newPool(b, stack.Options{Size: 1 << 20, ClearOnPut: clears})
				for b.Loop() {
					st := get(b, p)
					for i := range pages {
						*word(st.Hi() - uintptr(i+1)*pageSize) = 1
					}
					_ = p.Put(st)
				}
			})
		}
	}
}
