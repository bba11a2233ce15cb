package stack_test

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"fiberlab/stack"
)

func TestHighWater(t *testing.T) {
	p := newPool(t, stack.Options{})
	st := get(t, p)
	require.Zero(t, st.HighWater())
	for _, depth := range []uintptr{8, 16, 64, 104, 2000, 4096, 4104, 30_000, st.Top() - st.Lo()} {
		*word(st.Top() - depth&^7) = 1
		require.EqualValues(t, depth&^7, st.HighWater())
	}
	require.NoError(t, p.Put(st))
}

// One byte marks its word.
func TestHighWaterOfAByte(t *testing.T) {
	p := newPool(t, stack.Options{})
	st := get(t, p)
	*(*byte)(unsafe.Pointer(word(st.Top() - 100))) = 1
	require.Equal(t, 104, st.HighWater())
	require.NoError(t, p.Put(st))
}

// Zeros leave only the page they stand in as a trace: the mark is too small by
// less than a page.
func TestHighWaterOfZeros(t *testing.T) {
	p := newPool(t, stack.Options{})
	st := get(t, p)
	*word(st.Top() - 8) = 1
	for _, page := range []uintptr{5, 3, 0} {
		at := st.Lo() + page*pageSize
		*word(at) = 0
		depth := int(st.Top() - at)
		require.LessOrEqual(t, st.HighWater(), depth)
		require.Greater(t, st.HighWater(), depth-int(pageSize))
	}
	require.NoError(t, p.Put(st))
}

// What lies above Top is none of the fiber's depth.
func TestHighWaterAboveTop(t *testing.T) {
	p := newPool(t, stack.Options{})
	stacks := getAll(t, p, 2)
	st := stacks[1]
	require.Less(t, st.Top(), st.Hi())
	*word(st.Top()) = 1
	require.Zero(t, st.HighWater())
	putAll(t, p, stacks)
}

// Asking touches no page, used or not.
func TestHighWaterTouchesNothing(t *testing.T) {
	p := newPool(t, stack.Options{Size: 8 << 20})
	st := get(t, p)
	require.Zero(t, st.HighWater())
	require.Zero(t, residentPages(t, st.Lo(), st.Hi()))
	depth := 6<<20 + 8 // deeper than one look at the page table reaches
	*word(st.Top() - uintptr(depth)) = 1
	for range 10 {
		require.Equal(t, depth, st.HighWater())
	}
	require.Equal(t, 1, residentPages(t, st.Lo(), st.Hi()))
	require.NoError(t, p.Put(st))
}

// The idle list keeps marks; releasing the pages removes them.
func TestHighWaterAfterReuse(t *testing.T) {
	p := newPool(t, stack.Options{})
	st := get(t, p)
	*word(st.Top() - 800) = 1
	require.NoError(t, p.Put(st))
	require.Zero(t, st.HighWater(), "not in use")
	require.Same(t, st, get(t, p))
	require.Equal(t, 800, st.HighWater())

	other := get(t, p) // keeps the slab when Trim comes
	require.NoError(t, p.Put(st))
	p.Trim()
	require.Same(t, st, get(t, p))
	require.Zero(t, st.HighWater())
	putAll(t, p, []*stack.Stack{st, other})

	released := newPool(t, stack.Options{MaxIdle: -1})
	st = get(t, released)
	*word(st.Top() - 800) = 1
	require.NoError(t, released.Put(st))
	require.Same(t, st, get(t, released))
	require.Zero(t, st.HighWater())
	require.NoError(t, released.Put(st))
}

func TestHighWaterOfNoStack(t *testing.T) {
	st := new(stack.Stack)
	require.Zero(t, st.HighWater())
}
