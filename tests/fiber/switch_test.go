package fiber_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/tests/internal/fibertest"
	"fiberlab/tests/internal/suite"
)

func TestPingPong(t *testing.T) {
	fibertest.EachRoot(t, func(t *testing.T, root *fiber.Fiber) {
		const rounds = 10_000
		pings, pongs := 0, 0
		f := fibertest.New(t, root.Backend(), "pong", func() {
			for range rounds {
				assert.Equal(t, pongs+1, pings)
				pongs++
				if !fibertest.Leave(t, root) {
					return
				}
			}
		})
		for range rounds {
			pings++
			fibertest.Enter(t, root, f)
			require.Equal(t, pings, pongs)
		}
		require.Equal(t, fiber.Suspended, f.State())
		fibertest.Enter(t, root, f)
		require.Equal(t, rounds, pongs)
		fibertest.Finish(t, f)
	})
}

// A fiber may enter any other one, not only its root, and the root comes back
// only when it is entered.
func TestRing(t *testing.T) {
	fibertest.EachRoot(t, func(t *testing.T, root *fiber.Fiber) {
		const members, laps = 100, 50
		ring := make([]*fiber.Fiber, members)
		var trace []int
		for i := range ring {
			ring[i] = fibertest.New(t, root.Backend(), fmt.Sprint("member ", i), func() {
				for range laps {
					trace = append(trace, i)
					next := root
					if i+1 < members {
						next = ring[i+1]
					}
					if !fibertest.Leave(t, next) {
						return
					}
				}
			})
		}
		for range laps {
			trace = trace[:0]
			fibertest.Enter(t, root, ring[0])
			require.Len(t, trace, members)
			for i, at := range trace {
				require.Equal(t, i, at)
			}
		}
		for _, f := range ring {
			fibertest.Enter(t, root, f)
		}
		fibertest.Finish(t, ring...)
	})
}

// When a body returns, its thread goes on with the root, whichever fiber
// entered the fiber.
func TestBodyReturnsToRoot(t *testing.T) {
	fibertest.EachRoot(t, func(t *testing.T, root *fiber.Fiber) {
		var trace []string
		last := fibertest.New(t, root.Backend(), "last", func() { trace = append(trace, "last") })
		first := fibertest.New(t, root.Backend(), "first", func() {
			trace = append(trace, "first")
			fibertest.Leave(t, last)
			trace = append(trace, "first again")
		})
		fibertest.Enter(t, root, first)
		require.Equal(t, []string{"first", "last"}, trace)
		require.Equal(t, fiber.Finished, last.State())
		require.Equal(t, fiber.Suspended, first.State())
		require.Equal(t, fiber.Running, root.State())
		fibertest.Enter(t, root, first)
		require.Equal(t, []string{"first", "last", "first again"}, trace)
		fibertest.Finish(t, first, last)
	})
}

func TestStates(t *testing.T) {
	fibertest.EachRoot(t, func(t *testing.T, root *fiber.Fiber) {
		require.Equal(t, fiber.Running, root.State())
		var f, other *fiber.Fiber
		f = fibertest.New(t, root.Backend(), "f", func() {
			assert.Equal(t, fiber.Running, f.State())
			assert.Equal(t, fiber.Suspended, root.State())
			fibertest.Leave(t, other)
			assert.Equal(t, fiber.Running, f.State())
			assert.Equal(t, fiber.Suspended, other.State())
		})
		other = fibertest.New(t, root.Backend(), "other", func() {
			assert.Equal(t, fiber.Suspended, f.State())
			assert.Equal(t, fiber.Running, other.State())
			assert.Equal(t, fiber.Suspended, root.State())
			fibertest.Leave(t, root)
		})
		require.Equal(t, fiber.Ready, f.State())
		fibertest.Enter(t, root, f)
		require.Equal(t, fiber.Suspended, f.State())
		require.Equal(t, fiber.Suspended, other.State())
		fibertest.Enter(t, root, f)
		require.Equal(t, fiber.Finished, f.State())
		fibertest.Enter(t, root, other)
		require.Equal(t, fiber.Finished, other.State())
		require.Equal(t, fiber.Running, root.State())
		fibertest.Finish(t, f, other)
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
	fibertest.EachRoot(t, func(t *testing.T, root *fiber.Fiber) {
		require.NotEmpty(t, root.Name())
		long := string(make([]byte, 500))
		for _, name := range []string{"", "short", "ünïcödé \x00 and more", long} {
			var inside string
			f := fibertest.New(t, root.Backend(), name, func() { inside = fiber.Current().Name() })
			fibertest.Enter(t, root, f)
			require.Equal(t, name, f.Name())
			require.Equal(t, name, inside)
			require.Equal(t, root.Backend(), f.Backend())
			fibertest.Finish(t, f)
			require.Equal(t, name, f.Name())
		}
	})
}

// A fiber that gets what another one left behind knows nothing of it.
func TestPooledFiberStartsClean(t *testing.T) {
	fibertest.EachRoot(t, func(t *testing.T, root *fiber.Fiber) {
		var closed []*fiber.Fiber
		for i := range 200 {
			entries, deep := 0, 0
			f := fibertest.New(t, root.Backend(), fmt.Sprint("user ", i), func() {
				entries++
				assert.Equal(t, fmt.Sprint("user ", i), fiber.Current().Name())
				deep = grow(i % 50)
				fibertest.Leave(t, root)
				entries++
			})
			require.Equal(t, fiber.Ready, f.State())
			fibertest.Enter(t, root, f)
			require.Equal(t, 1, entries)
			fibertest.Enter(t, root, f)
			require.Equal(t, 2, entries)
			require.Equal(t, grow(i%50), deep)
			for _, old := range closed {
				require.Equal(t, fiber.Closed, old.State())
			}
			fibertest.Finish(t, f)
			if closed = append(closed, f); len(closed) > 10 {
				closed = closed[1:]
			}
		}
		stats := fiber.ReadStats()
		require.LessOrEqual(t, stats.Idle, 1+stats.Stranded, "the same runner did for all of them")
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

// Mixing is fine between backends that switch by hand.
func TestHandSwitchedBackendsMix(t *testing.T) {
	suite.EachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
		fibertest.OnRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
			var first, byUcontext *fiber.Fiber
			turns := 0
			first = fibertest.New(t, suite.HandSwitched[0], "by the first", func() {
				for range 1000 {
					turns++
					fibertest.Leave(t, byUcontext)
				}
			})
			byUcontext = fibertest.New(t, fiber.Ucontext, "by ucontext", func() {
				for i := range 1000 {
					turns++
					if i%3 == 0 {
						fibertest.Leave(t, root)
					} else {
						fibertest.Leave(t, first)
					}
				}
			})
			for first.State() != fiber.Finished {
				fibertest.Enter(t, root, first)
			}
			for byUcontext.State() != fiber.Finished {
				fibertest.Enter(t, root, byUcontext)
			}
			require.Equal(t, 2000, turns)
			fibertest.Finish(t, first, byUcontext)
		})
	})
}
