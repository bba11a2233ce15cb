package stack_test

import (
	"math/rand/v2"
	"slices"
	"sort"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"fiberlab/stack"
)

// model is what a pool should be: a set of stacks in use and a list of idle ones.
type model struct {
	inUse []*stack.Stack
	idle  []*stack.Stack // the last is the next to be handed out
	free  map[*stack.Stack]bool
	most  int
}

// TestAgainstModel drives a pool from one goroutine, where each result is known.
func TestAgainstModel(t *testing.T) {
	eachGuard(t, func(t *testing.T, kind stack.Guard) {
		rnd := newRand(t)
		touch := newToucher(t)
		for range 10 {
			m := model{most: rnd.IntN(40), free: map[*stack.Stack]bool{}}
			o := stack.Options{Guard: kind, MaxIdle: m.most, Size: rnd.IntN(200_000)}
			if m.most == 0 {
				o.MaxIdle = -1
			}
			p := newPool(t, o)
			for range 1000 {
				m.step(t, rnd, p, touch)
				s := p.Stats()
				require.Equal(t, len(m.inUse), s.InUse)
				require.Equal(t, len(m.idle), s.Idle)
				require.GreaterOrEqual(t, s.Capacity, s.InUse+s.Idle)
			}
			putAll(t, p, m.inUse)
		}
	})
}

// step does one operation on the pool and on the model.
func (m *model) step(t *testing.T, rnd *rand.Rand, p *stack.Pool, touch toucher) {
	switch n := rnd.IntN(100); {
	case n < 55:
		st := get(t, p)
		if len(m.idle) > 0 {
			require.Same(t, m.idle[len(m.idle)-1], st)
			m.idle = m.idle[:len(m.idle)-1]
		} else {
			require.Zero(t, st.HighWater(), "neither fresh nor released")
		}
		require.NotContains(t, m.inUse, st)
		requireShape(t, st, p.Stats().Size)
		touch.requireGuarded(t, st)
		delete(m.free, st)
		m.inUse = append(m.inUse, st)
		*word(st.Lo()) = uint64(st.Lo())
		*word(st.Top() - 8) = uint64(st.Lo())
	case n < 95 && len(m.inUse) > 0:
		i := rnd.IntN(len(m.inUse))
		st := m.inUse[i]
		require.EqualValues(t, st.Lo(), *word(st.Lo()))
		require.EqualValues(t, st.Lo(), *word(st.Top() - 8))
		require.NoError(t, p.Put(st))
		m.inUse = slices.Delete(m.inUse, i, i+1)
		if len(m.idle) < m.most {
			m.idle = append(m.idle, st)
		} else {
			m.free[st] = true
		}
	case n < 98:
		for _, st := range m.idle {
			require.ErrorIs(t, p.Put(st), stack.ErrNotInUse)
		}
		for st := range m.free {
			require.ErrorIs(t, p.Put(st), stack.ErrNotInUse)
		}
	case n < 99:
		p.Trim()
		for _, st := range m.idle {
			m.free[st] = true
		}
		m.idle = nil
	default:
		if len(m.inUse) > 0 {
			require.ErrorIs(t, p.Close(), stack.ErrInUse)
		}
	}
}

// claims is what several goroutines hold: ranges, guards included, in order.
type claims struct {
	mu   sync.Mutex
	held []*stack.Stack
}

func (c *claims) add(t *testing.T, st *stack.Stack) {
	c.mu.Lock()
	defer c.mu.Unlock()
	lo, _ := st.Guard()
	at := sort.Search(len(c.held), func(i int) bool { return c.held[i].Lo() >= st.Lo() })
	if at > 0 {
		assert.LessOrEqual(t, c.held[at-1].Hi(), lo, "overlap")
	}
	if at < len(c.held) {
		above, _ := c.held[at].Guard()
		assert.LessOrEqual(t, st.Hi(), above, "overlap")
	}
	c.held = slices.Insert(c.held, at, st)
}

func (c *claims) remove(st *stack.Stack) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held = slices.DeleteFunc(c.held, func(other *stack.Stack) bool { return other == st })
}

// TestConcurrentUse has goroutines take, write, check, put back and trim. Two
// pools share one set of claims, as no two stacks of a process may overlap.
func TestConcurrentUse(t *testing.T) {
	eachGuard(t, func(t *testing.T, kind stack.Guard) {
		rnd := newRand(t)
		pools := []*stack.Pool{
			newPool(t, stack.Options{Guard: kind, MaxIdle: 16}),
			newPool(t, stack.Options{Guard: kind, MaxIdle: -1, Size: 5 * int(pageSize)}),
		}
		var c claims
		var all sync.WaitGroup
		for id := range 6 {
			seed := rnd.Uint64()
			touch := newToucher(t)
			all.Add(1)
			go func() {
				defer all.Done()
				useAtRandom(t, rand.New(rand.NewPCG(seed, uint64(id))), pools[id%2], &c, touch, uint64(id)+1)
			}()
		}
		all.Wait()
		require.Empty(t, c.held)
	})
}

func useAtRandom(t *testing.T, rnd *rand.Rand, p *stack.Pool, c *claims, touch toucher, id uint64) {
	var mine []*stack.Stack
	put := func(i int) {
		st := mine[i]
		mine = slices.Delete(mine, i, i+1)
		for _, at := range []uintptr{st.Lo(), st.Top() - 8, st.Hi() - 8} {
			assert.Equal(t, id, *word(at), "another holder wrote to %v", st)
		}
		assert.Positive(t, st.HighWater())
		c.remove(st)
		assert.NoError(t, p.Put(st))
	}
	for range 1500 {
		switch n := rnd.IntN(100); {
		case n < 50 && len(mine) < 50:
			st, err := p.Get()
			if !assert.NoError(t, err) {
				return
			}
			c.add(t, st)
			for _, at := range []uintptr{st.Lo(), st.Top() - 8, st.Hi() - 8} {
				*word(at) = id
			}
			_, hi := st.Guard()
			assert.Equal(t, error(unix.EFAULT), touch.read(hi-1))
			mine = append(mine, st)
		case n < 98 && len(mine) > 0:
			put(rnd.IntN(len(mine)))
		case n == 98:
			p.Trim()
		default:
			assert.ErrorIs(t, p.Put(nil), stack.ErrForeign)
			if len(mine) > 0 {
				assert.ErrorIs(t, p.Close(), stack.ErrInUse)
			}
		}
	}
	for len(mine) > 0 {
		put(len(mine) - 1)
	}
}
