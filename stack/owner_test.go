package stack_test

import (
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/stack"
)

func requireOwner(t *testing.T, want *stack.Stack, addr uintptr) {
	t.Helper()
	st, ok := stack.Owner(addr)
	require.Equal(t, want != nil, ok, "%#x", addr)
	require.True(t, want == st, "%#x: %v, not %v", addr, st, want)
}

func TestOwner(t *testing.T) {
	eachGuard(t, func(t *testing.T, kind stack.Guard) {
		a := newPool(t, stack.Options{Guard: kind})
		b := newPool(t, stack.Options{Guard: kind, Size: 3 * int(pageSize), MaxIdle: -1})
		stacks := append(getAll(t, a, 100), getAll(t, b, 100)...)
		for _, st := range stacks {
			lo, hi := st.Guard()
			for addr := lo; addr < hi; addr += 61 {
				requireOwner(t, st, addr)
			}
			requireOwner(t, st, hi-1)
			requireOwner(t, nil, st.Lo())
			requireOwner(t, nil, st.Top()-1)
			requireOwner(t, nil, st.Hi()-1)
		}
		local := 0
		for _, addr := range []uintptr{
			0, 1, pageSize, math.MaxUint, 1 << 63, uintptr(unsafe.Pointer(&local)),
			uintptr(unsafe.Pointer(&stacks[0])),
		} {
			requireOwner(t, nil, addr)
		}

		// In the pool a stack keeps its guard, with or without its pages.
		putAll(t, a, stacks[:100])
		putAll(t, b, stacks[101:])
		for _, st := range stacks[:100] {
			lo, _ := st.Guard()
			requireOwner(t, st, lo)
		}
		lo, _ := stacks[100].Guard()
		requireOwner(t, stacks[100], lo)

		putAll(t, b, stacks[100:101])
		a.Trim()
		b.Trim()
		for _, st := range stacks {
			lo, _ := st.Guard()
			requireOwner(t, nil, lo)
		}
	})
}

// The addresses of a guard that was never made have no owner.
func TestOwnerOfNoGuard(t *testing.T) {
	p := newPool(t, stack.Options{})
	st := get(t, p)
	next := st.Hi() // where the next stack of the slab will have its guard
	requireOwner(t, nil, next)
	second := get(t, p)
	lo, _ := second.Guard()
	require.Equal(t, next, lo)
	requireOwner(t, second, next)
	putAll(t, p, []*stack.Stack{st, second})
}

// Owner answers right while slabs come and go.
func TestOwnerAgainstMapping(t *testing.T) {
	steady := newPool(t, stack.Options{})
	st := get(t, steady)
	lo, hi := st.Guard()
	var stop atomic.Bool
	var all sync.WaitGroup
	for range 2 {
		all.Add(1)
		go func() {
			defer all.Done()
			for !stop.Load() && mapAndUnmap(t) {
			}
		}()
	}
	for range 100_000 {
		owner, ok := stack.Owner(hi - 1)
		if !ok || owner != st {
			assert.Fail(t, "the steady stack lost its guard")
			break
		}
		if _, ok := stack.Owner(hi); ok {
			assert.Fail(t, "a guard where there is none")
			break
		}
	}
	stop.Store(true)
	all.Wait()
	requireOwner(t, st, lo)
	require.NoError(t, steady.Put(st))
}

// mapAndUnmap has a new pool map a few slabs and unmap them.
func mapAndUnmap(t *testing.T) bool {
	p, err := stack.NewPool(stack.Options{MaxIdle: -1})
	if !assert.NoError(t, err) {
		return false
	}
	var stacks []*stack.Stack
	for range 70 {
		st, err := p.Get()
		if !assert.NoError(t, err) {
			return false
		}
		lo, _ := st.Guard()
		owner, ok := stack.Owner(lo)
		assert.True(t, ok && owner == st)
		stacks = append(stacks, st)
	}
	for _, st := range stacks {
		assert.NoError(t, p.Put(st))
	}
	return assert.NoError(t, p.Close())
}
