package stack_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"fiberlab/stack"
)

func TestSizes(t *testing.T) {
	page := int(pageSize)
	touch := newToucher(t)
	for _, c := range []struct{ ask, size int }{
		{0, stack.DefaultSize},
		{1, page},
		{page - 1, page},
		{page, page},
		{page + 1, 2 * page},
		{12_345, (12_345 + page - 1) / page * page},
		{stack.DefaultSize, stack.DefaultSize},
		{100_001, (100_001 + page - 1) / page * page},
		{8 << 20, 8 << 20},
		{stack.MaxSize - 1, stack.MaxSize},
		{stack.MaxSize, stack.MaxSize},
	} {
		for _, kind := range []stack.Guard{stack.GuardAuto, stack.GuardMprotect} {
			p := newPool(t, stack.Options{Size: c.ask, Guard: kind})
			require.Equal(t, c.size, p.Stats().Size, "asked for %d", c.ask)
			stacks := getAll(t, p, 3)
			for _, st := range stacks {
				requireShape(t, st, c.size)
				touch.requireGuarded(t, st)
				*word(st.Lo()) = 1
				*word(st.Top() - 8) = 2
			}
			putAll(t, p, stacks)
		}
	}
}

// requireShape checks the addresses of one stack against each other.
func requireShape(t testing.TB, st *stack.Stack, size int) {
	t.Helper()
	require.Equal(t, size, st.Size())
	require.Equal(t, uintptr(size), st.Hi()-st.Lo())
	require.Zero(t, st.Lo()%pageSize)
	require.Zero(t, st.Top()%64)
	require.LessOrEqual(t, st.Top(), st.Hi())
	require.Less(t, st.Hi()-st.Top(), uintptr(2048))
	lo, hi := st.Guard()
	require.Equal(t, st.Lo(), hi)
	require.Equal(t, pageSize, hi-lo)
}

func TestImpossibleSizes(t *testing.T) {
	for _, size := range []int{-1, -4096, math.MinInt, stack.MaxSize + 1, 1 << 40, math.MaxInt - 4095, math.MaxInt} {
		p, err := stack.NewPool(stack.Options{Size: size})
		require.ErrorIs(t, err, stack.ErrSize, "%d", size)
		require.ErrorContains(t, err, "ask for")
		require.Nil(t, p)
	}
}

func TestUnknownGuard(t *testing.T) {
	for _, kind := range []stack.Guard{stack.GuardMprotect + 1, 255} {
		p, err := stack.NewPool(stack.Options{Guard: kind})
		require.ErrorIs(t, err, stack.ErrGuard)
		require.ErrorContains(t, err, kind.String())
		require.Nil(t, p)
	}
	require.Equal(t, "auto madvise mprotect Guard(3)",
		fmt.Sprint(stack.GuardAuto, " ", stack.GuardMadvise, " ", stack.GuardMprotect, " ", stack.Guard(3)))
}

// A guard of several pages is one guard. No byte of it can be touched, and it costs no more mappings than a guard of
// one page.
func TestGuardPages(t *testing.T) {
	eachGuard(t, func(t *testing.T, kind stack.Guard) {
		touch := newToucher(t)
		for _, pages := range []int{0, 1, 2, 7, 300} {
			p := newPool(t, stack.Options{Guard: kind, Size: 3 * int(pageSize), GuardPages: pages})
			size := uintptr(max(pages, 1)) * pageSize
			stacks := getAll(t, p, 40) // beyond the first slab
			cost := p.Stats().Slabs
			if kind == stack.GuardMprotect {
				cost = 2 * len(stacks)
			}
			require.LessOrEqual(t, mappingsOf(t, stacks), cost, "mappings of guards of %d pages", pages)
			require.Equal(t, max(pages, 1), p.Stats().GuardPages)
			require.Equal(t, int64(p.Stats().Capacity)*int64(3*pageSize+size), p.Stats().MappedBytes)
			for _, st := range stacks {
				lo, hi := st.Guard()
				require.Equal(t, st.Lo(), hi)
				require.Equal(t, size, hi-lo)
				require.Equal(t, int(3*pageSize), st.Size())
				touch.requireGuarded(t, st)
				for addr := lo; addr < hi; addr += pageSize {
					require.Equal(t, unix.EFAULT, touch.read(addr+17))
				}
			}
			putAll(t, p, stacks)
		}
	})
}

func TestImpossibleGuardPages(t *testing.T) {
	for _, pages := range []int{-1, math.MinInt, stack.MaxGuardPages + 1, math.MaxInt} {
		o := stack.Options{GuardPages: pages}
		require.ErrorIs(t, o.Check(), stack.ErrGuard)
		p, err := stack.NewPool(o)
		require.ErrorIs(t, err, stack.ErrGuard, "%d", pages)
		require.ErrorContains(t, err, "ask for")
		require.Nil(t, p)
	}
}

func TestNewPoolMapsNothing(t *testing.T) {
	p := newPool(t, stack.Options{})
	require.Equal(t, stack.Stats{Size: stack.DefaultSize, Guard: p.Stats().Guard, GuardPages: 1}, p.Stats())
	require.NotEqual(t, stack.GuardAuto, p.Stats().Guard)
}

func TestMaxIdle(t *testing.T) {
	for _, c := range []struct{ ask, kept int }{{0, stack.DefaultMaxIdle}, {-1, 0}, {math.MinInt, 0}, {7, 7}} {
		p := newPool(t, stack.Options{Size: 1, MaxIdle: c.ask})
		stacks := getAll(t, p, stack.DefaultMaxIdle+10)
		putAll(t, p, stacks)
		require.Equal(t, c.kept, p.Stats().Idle)
	}
}
