package stack_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/stack"
)

// Neighbours start on different cache lines, evenly, and within the upper half
// of the smallest page there is.
func TestColours(t *testing.T) {
	p := newPool(t, stack.Options{})
	stacks := getAll(t, p, 128)
	staggers := map[uintptr]int{}
	for i, st := range stacks {
		stagger := st.Hi() - st.Top()
		require.Zero(t, stagger%64)
		require.Less(t, stagger, uintptr(2048))
		staggers[stagger]++
		if i > 0 {
			before := stacks[i-1]
			require.NotEqual(t, before.Hi()-before.Top(), stagger)
		}
	}
	require.Len(t, staggers, 32)
	for stagger, n := range staggers {
		require.Equal(t, len(stacks)/32, n, "stagger %d", stagger)
	}
	putAll(t, p, stacks)
}

// A stack keeps its colour however often it is handed out.
func TestColourStays(t *testing.T) {
	p := newPool(t, stack.Options{MaxIdle: -1})
	stacks := getAll(t, p, 10)
	tops := map[uintptr]uintptr{}
	for _, st := range stacks {
		tops[st.Lo()] = st.Top()
	}
	putAll(t, p, stacks)
	stacks = getAll(t, p, 10)
	for _, st := range stacks {
		require.Equal(t, tops[st.Lo()], st.Top())
	}
	putAll(t, p, stacks)
}
