package fiber_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/tests/internal/cbody"
	"fiberlab/tests/internal/fibertest"
	"fiberlab/tests/internal/suite"
)

// enterInAnyOrder enters fibers at random until all have finished.
func enterInAnyOrder(t *testing.T, rng *rand.Rand, root *fiber.Fiber, fibers []*fiber.Fiber) {
	t.Helper()
	left := append([]*fiber.Fiber(nil), fibers...)
	for len(left) > 0 {
		i := rng.IntN(len(left))
		fibertest.Enter(t, root, left[i])
		if left[i].State() == fiber.Finished {
			left[i] = left[len(left)-1]
			left = left[:len(left)-1]
		}
	}
}

// Bodies in C call Go functions that switch away in mid-call.
func TestCBodyCallsGoThatSwitches(t *testing.T) {
	suite.EachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
		fibertest.OnRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
			const count, calls = 20, 5
			fibers := make([]*fiber.Fiber, count)
			orders := make([]cbody.Order, count)
			calledBack := make([]int, count)
			for i := range fibers {
				orders[i] = cbody.NewOrder(cbody.Task{Turns: calls, Callback: func() {
					assert.Same(t, fibers[i], fiber.Current())
					fibertest.Leave(t, root)
					calledBack[i] += grow(i)
					fibertest.Leave(t, root)
					assert.Same(t, fibers[i], fiber.Current())
				}})
				fibers[i] = fibertest.NewC(t, b, "calls Go", cbody.Call, orders[i].Pointer())
			}
			enterInAnyOrder(t, suite.NewRand(t), root, fibers)
			for i, f := range fibers {
				answer := orders[i].Answer()
				require.Equal(t, calls, answer.Done)
				require.Zero(t, answer.Broken)
				require.Equal(t, f.Handle(), answer.Self)
				require.Equal(t, calls*grow(i), calledBack[i])
				orders[i].Free()
			}
			fibertest.Finish(t, fibers...)
		})
	})
}

// Go calls C, C calls Go, that Go function switches away; the fibers go in and
// come out in any order.
func TestNestedCallsReturnOutOfOrder(t *testing.T) {
	suite.EachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
		fibertest.OnRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
			const count, levels = 20, 8
			fibers := make([]*fiber.Fiber, count)
			traces := make([][]int, count)
			for i := range fibers {
				var descend func(level int)
				descend = func(level int) {
					assert.Same(t, fibers[i], fiber.Current())
					traces[i] = append(traces[i], level)
					fibertest.Leave(t, root)
					if level < levels {
						cbody.DeepCallGo(1000+100*i, func() { descend(level + 1) })
					}
					traces[i] = append(traces[i], level)
					fibertest.Leave(t, root)
				}
				cfg := fiber.Config{Name: "nested", Backend: b, StackSize: 256 << 10}
				var err error
				fibers[i], err = fiber.New(cfg, func() { descend(1) })
				require.NoError(t, err)
			}
			enterInAnyOrder(t, suite.NewRand(t), root, fibers)
			var want []int
			for level := 1; level <= levels; level++ {
				want = append(want, level)
			}
			for level := levels; level >= 1; level-- {
				want = append(want, level)
			}
			for _, trace := range traces {
				require.Equal(t, want, trace)
			}
			fibertest.Finish(t, fibers...)
		})
	})
}

// The root's own frames may nest as well, and a fiber made within a callback of
// another one may outlive that callback.
func TestFibersMadeInCallbacks(t *testing.T) {
	suite.EachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
		fibertest.OnRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
			var inner *fiber.Fiber
			outer := fibertest.New(t, b, "outer", func() {
				cbody.CallGo(func() {
					var err error
					inner, err = fiber.New(fiber.Config{Name: "inner", Backend: b}, func() {
						cbody.CallGo(func() { fibertest.Leave(t, root) })
					})
					assert.NoError(t, err)
					fibertest.Leave(t, inner) // inner goes to the root, which comes back here
				})
			})
			cbody.CallGo(func() {
				assert.NoError(t, root.SwitchTo(outer))
				cbody.CallGo(func() { assert.NoError(t, root.SwitchTo(outer)) })
			})
			require.Equal(t, fiber.Finished, outer.State())
			fibertest.Finish(t, outer)
			fibertest.Enter(t, root, inner)
			fibertest.Finish(t, inner)
		})
	})
}
