package tests

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
)

func TestPingPong(t *testing.T) {
	eachRoot(t, func(t *testing.T, root *fiber.Fiber) {
		const rounds = 10_000
		pings, pongs := 0, 0
		f := newFiber(t, root.Backend(), "pong", func() {
			for range rounds {
				assert.Equal(t, pongs+1, pings)
				pongs++
				if !leave(t, root) {
					return
				}
			}
		})
		for range rounds {
			pings++
			enter(t, root, f)
			require.Equal(t, pings, pongs)
		}
		require.Equal(t, fiber.Suspended, f.State())
		enter(t, root, f)
		require.Equal(t, rounds, pongs)
		finish(t, f)
	})
}

// A fiber may enter any other one, not only its root, and the root comes back
// only when somebody enters it.
func TestRing(t *testing.T) {
	eachRoot(t, func(t *testing.T, root *fiber.Fiber) {
		const members, laps = 100, 50
		ring := make([]*fiber.Fiber, members)
		var trace []int
		for i := range ring {
			ring[i] = newFiber(t, root.Backend(), fmt.Sprint("member ", i), func() {
				for range laps {
					trace = append(trace, i)
					next := root
					if i+1 < members {
						next = ring[i+1]
					}
					if !leave(t, next) {
						return
					}
				}
			})
		}
		for range laps {
			trace = trace[:0]
			enter(t, root, ring[0])
			require.Len(t, trace, members)
			for i, at := range trace {
				require.Equal(t, i, at)
			}
		}
		for _, f := range ring {
			enter(t, root, f)
		}
		finish(t, ring...)
	})
}

// When a body returns, its thread goes on with the root, whoever it was that
// entered the fiber.
func TestBodyReturnsToRoot(t *testing.T) {
	eachRoot(t, func(t *testing.T, root *fiber.Fiber) {
		var trace []string
		last := newFiber(t, root.Backend(), "last", func() { trace = append(trace, "last") })
		first := newFiber(t, root.Backend(), "first", func() {
			trace = append(trace, "first")
			leave(t, last)
			trace = append(trace, "first again")
		})
		enter(t, root, first)
		require.Equal(t, []string{"first", "last"}, trace)
		require.Equal(t, fiber.Finished, last.State())
		require.Equal(t, fiber.Suspended, first.State())
		require.Equal(t, fiber.Running, root.State())
		enter(t, root, first)
		require.Equal(t, []string{"first", "last", "first again"}, trace)
		finish(t, first, last)
	})
}

func TestStates(t *testing.T) {
	eachRoot(t, func(t *testing.T, root *fiber.Fiber) {
		require.Equal(t, fiber.Running, root.State())
		var f, other *fiber.Fiber
		f = newFiber(t, root.Backend(), "f", func() {
			assert.Equal(t, fiber.Running, f.State())
			assert.Equal(t, fiber.Suspended, root.State())
			leave(t, other)
			assert.Equal(t, fiber.Running, f.State())
			assert.Equal(t, fiber.Suspended, other.State())
		})
		other = newFiber(t, root.Backend(), "other", func() {
			assert.Equal(t, fiber.Suspended, f.State())
			assert.Equal(t, fiber.Running, other.State())
			assert.Equal(t, fiber.Suspended, root.State())
			leave(t, root)
		})
		require.Equal(t, fiber.Ready, f.State())
		enter(t, root, f)
		require.Equal(t, fiber.Suspended, f.State())
		require.Equal(t, fiber.Suspended, other.State())
		enter(t, root, f)
		require.Equal(t, fiber.Finished, f.State())
		enter(t, root, other)
		require.Equal(t, fiber.Finished, other.State())
		require.Equal(t, fiber.Running, root.State())
		finish(t, f, other)
	})
}

func TestStateAndBackendNames(t *testing.T) {
	for state, name := range map[fiber.State]string{
		fiber.Ready: "Ready", fiber.Running: "Running", fiber.Suspended: "Suspended",
		fiber.Finished: "Finished", fiber.Closed: "Closed", fiber.State(200): "State(200)",
	} {
		require.Equal(t, name, state.String())
	}
	for _, b := range append(fiber.Backends(), fiber.Default) {
		parsed, err := fiber.ParseBackend(b.String())
		require.NoError(t, err)
		require.Equal(t, b, parsed)
	}
	require.Equal(t, "Backend(77)", fiber.Backend(77).String())
	parsed, err := fiber.ParseBackend("")
	require.NoError(t, err)
	require.Equal(t, fiber.Default, parsed)
}

func TestNames(t *testing.T) {
	eachRoot(t, func(t *testing.T, root *fiber.Fiber) {
		require.NotEmpty(t, root.Name())
		long := string(make([]byte, 500))
		for _, name := range []string{"", "short", "ünïcödé \x00 and more", long} {
			var inside string
			f := newFiber(t, root.Backend(), name, func() { inside = fiber.Current().Name() })
			enter(t, root, f)
			require.Equal(t, name, f.Name())
			require.Equal(t, name, inside)
			require.Equal(t, root.Backend(), f.Backend())
			finish(t, f)
			require.Equal(t, name, f.Name())
		}
	})
}

// A fiber that gets what another one left behind knows nothing of it.
func TestPooledFiberStartsClean(t *testing.T) {
	eachRoot(t, func(t *testing.T, root *fiber.Fiber) {
		var closed []*fiber.Fiber
		for i := range 200 {
			entries, deep := 0, 0
			f := newFiber(t, root.Backend(), fmt.Sprint("user ", i), func() {
				entries++
				assert.Equal(t, fmt.Sprint("user ", i), fiber.Current().Name())
				deep = grow(i % 50)
				leave(t, root)
				entries++
			})
			require.Equal(t, fiber.Ready, f.State())
			enter(t, root, f)
			require.Equal(t, 1, entries)
			enter(t, root, f)
			require.Equal(t, 2, entries)
			require.Equal(t, grow(i%50), deep)
			for _, old := range closed {
				require.Equal(t, fiber.Closed, old.State())
			}
			finish(t, f)
			if closed = append(closed, f); len(closed) > 10 {
				closed = closed[1:]
			}
		}
		stats := fiber.ReadStats()
		require.LessOrEqual(t, stats.Idle, 1+stats.Stranded, "the same carrier did for all of them")
	})
}

// grow uses some hundred bytes of Go stack a level, so that the stack moves.
func grow(levels int) int {
	var words [64]int
	for i := range words {
		words[i] = levels + i
	}
	if levels > 0 {
		words[levels%64] += grow(levels - 1)
	}
	sum := 0
	for _, w := range words {
		sum += w
	}
	return sum
}

// Mixing is fine between the two backends that switch by hand.
func TestHandSwitchedBackendsMix(t *testing.T) {
	eachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
		onRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
			var byAsm, byUcontext *fiber.Fiber
			turns := 0
			byAsm = newFiber(t, fiber.Asm, "by asm", func() {
				for range 1000 {
					turns++
					leave(t, byUcontext)
				}
			})
			byUcontext = newFiber(t, fiber.Ucontext, "by ucontext", func() {
				for i := range 1000 {
					turns++
					if i%3 == 0 {
						leave(t, root)
					} else {
						leave(t, byAsm)
					}
				}
			})
			for byAsm.State() != fiber.Finished {
				enter(t, root, byAsm)
			}
			for byUcontext.State() != fiber.Finished {
				enter(t, root, byUcontext)
			}
			require.Equal(t, 2000, turns)
			finish(t, byAsm, byUcontext)
		})
	})
}
