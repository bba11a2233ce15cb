package stack_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/stack"
)

func TestMisuse(t *testing.T) {
	p := newPool(t, stack.Options{})
	other := newPool(t, stack.Options{})
	st := get(t, p)

	require.ErrorIs(t, p.Put(nil), stack.ErrForeign)
	require.ErrorIs(t, p.Put(new(stack.Stack)), stack.ErrForeign)
	require.ErrorIs(t, other.Put(st), stack.ErrForeign)
	require.ErrorContains(t, other.Put(st), "put it back there")
	require.Equal(t, 1, p.Stats().InUse)
	require.Zero(t, other.Stats().Idle)

	require.NoError(t, p.Put(st))
	err := p.Put(st)
	require.ErrorIs(t, err, stack.ErrNotInUse)
	require.ErrorContains(t, err, st.String())
	require.Equal(t, 1, p.Stats().Idle)

	// Put back twice, it must still come out once.
	a, b := get(t, p), get(t, p)
	require.NotSame(t, a, b)
	putAll(t, p, []*stack.Stack{a, b})
}

// A stack put back beyond MaxIdle, and one whose slab is gone, are not in use.
func TestDoublePutOfReleased(t *testing.T) {
	p := newPool(t, stack.Options{MaxIdle: -1})
	stacks := getAll(t, p, 100)
	putAll(t, p, stacks)
	for _, st := range stacks {
		require.ErrorIs(t, p.Put(st), stack.ErrNotInUse)
	}
	p.Trim()
	require.Zero(t, p.Stats().Slabs)
	for _, st := range stacks {
		require.ErrorIs(t, p.Put(st), stack.ErrNotInUse)
		require.Zero(t, st.HighWater())
	}
	require.NoError(t, p.Close())
	require.ErrorIs(t, p.Put(stacks[0]), stack.ErrNotInUse)
}

// Many goroutines put the same stack back at once: one succeeds.
func TestConcurrentDoublePut(t *testing.T) {
	for _, maxIdle := range []int{-1, 1} {
		p := newPool(t, stack.Options{MaxIdle: maxIdle})
		for range 200 {
			st := get(t, p)
			errs := make([]error, 4)
			var all sync.WaitGroup
			for i := range errs {
				all.Add(1)
				go func() { defer all.Done(); errs[i] = p.Put(st) }()
			}
			all.Wait()
			good := 0
			for _, err := range errs {
				if err == nil {
					good++
				} else {
					require.ErrorIs(t, err, stack.ErrNotInUse)
				}
			}
			require.Equal(t, 1, good)
			require.Zero(t, p.Stats().InUse)
		}
	}
}

func TestClose(t *testing.T) {
	eachGuard(t, func(t *testing.T, kind stack.Guard) {
		p := newPool(t, stack.Options{Guard: kind})
		touch := newToucher(t)
		stacks := getAll(t, p, 100)

		err := p.Close()
		require.ErrorIs(t, err, stack.ErrInUse)
		require.ErrorContains(t, err, "100")
		touch.requireGuarded(t, stacks[0])
		putAll(t, p, stacks[1:])
		require.ErrorContains(t, p.Close(), "1 not put back")
		extra := get(t, p) // refused, Close leaves the pool as it was
		putAll(t, p, []*stack.Stack{extra, stacks[0]})

		require.NoError(t, p.Close())
		require.NoError(t, p.Close())
		st, err := p.Get()
		require.ErrorIs(t, err, stack.ErrClosed)
		require.Nil(t, st)
		p.Trim()
	})
}

func TestLastPutIsFirstOut(t *testing.T) {
	p := newPool(t, stack.Options{})
	stacks := getAll(t, p, 10)
	putAll(t, p, stacks)
	for i := len(stacks) - 1; i >= 0; i-- {
		require.Same(t, stacks[i], get(t, p))
	}
	putAll(t, p, stacks)
}

func TestFewStacksMapLittle(t *testing.T) {
	p := newPool(t, stack.Options{})
	st := get(t, p)
	require.LessOrEqual(t, p.Stats().MappedBytes, int64(4<<20))
	require.NoError(t, p.Put(st))
}

// A large stack has its own slab instead of reserving for many.
func TestLargeStacks(t *testing.T) {
	p := newPool(t, stack.Options{Size: stack.MaxSize})
	stacks := getAll(t, p, 5)
	require.Equal(t, 5, p.Stats().Slabs)
	require.Equal(t, 5, p.Stats().Capacity)
	putAll(t, p, stacks)
}

// One stack that comes and goes in a pool that keeps none maps nothing anew.
func TestSpareSlab(t *testing.T) {
	p := newPool(t, stack.Options{MaxIdle: -1})
	st := get(t, p)
	for range 100 {
		require.NoError(t, p.Put(st))
		require.Equal(t, 1, p.Stats().Slabs)
		require.Same(t, st, get(t, p))
	}
	require.NoError(t, p.Put(st))
	p.Trim()
	require.Zero(t, p.Stats().Slabs)
	require.Zero(t, p.Stats().MappedBytes)
}

// Closing while others take and put back either fails or ends the pool.
func TestCloseAgainstUse(t *testing.T) {
	for range 50 {
		p := newPool(t, stack.Options{MaxIdle: -1})
		var all sync.WaitGroup
		for range 3 {
			all.Add(1)
			go func() {
				defer all.Done()
				for {
					st, err := p.Get()
					if err != nil {
						assert.ErrorIs(t, err, stack.ErrClosed)
						return
					}
					*word(st.Top() - 8) = 1
					assert.NoError(t, p.Put(st))
				}
			}()
		}
		for {
			err := p.Close()
			if err == nil {
				break
			}
			require.ErrorIs(t, err, stack.ErrInUse)
		}
		all.Wait()
	}
}
