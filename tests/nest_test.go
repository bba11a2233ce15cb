package tests

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/tests/cbody"
)

// enterInAnyOrder enters fibers at random until all have finished.
func enterInAnyOrder(t *testing.T, rng *rand.Rand, root *fiber.Fiber, fibers []*fiber.Fiber) {
	t.Helper()
	left := append([]*fiber.Fiber(nil), fibers...)
	for len(left) > 0 {
		i := rng.IntN(len(left))
		enter(t, root, left[i])
		if left[i].State() == fiber.Finished {
			left[i] = left[len(left)-1]
			left = left[:len(left)-1]
		}
	}
}

// Two C bodies that switch to one another keep what they have in registers.
func TestCBodies(t *testing.T) {
	eachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
		onRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
			const turns = 10_000
			one, other := cbody.NewOrder(cbody.Task{Turns: turns}), cbody.NewOrder(cbody.Task{Turns: turns})
			defer one.Free()
			defer other.Free()
			f := newCFiber(t, b, "one", cbody.Turns, one.Pointer())
			g := newCFiber(t, b, "other", cbody.Turns, other.Pointer())
			one.SetPeer(g.Handle())
			other.SetPeer(f.Handle())
			enter(t, root, f) // until one returns; other still waits in its last switch
			require.Equal(t, fiber.Finished, f.State())
			require.Equal(t, fiber.Suspended, g.State())
			enter(t, root, g)
			for order, f := range map[cbody.Order]*fiber.Fiber{one: f, other: g} {
				answer := order.Answer()
				require.Equal(t, turns, answer.Done)
				require.Zero(t, answer.Broken)
				require.Zero(t, answer.Code)
				require.Equal(t, f.Handle(), answer.Self)
			}
			finish(t, f, g)
		})
	})
}

// A C body may use nearly all of its stack, and be left there.
func TestDeepCBody(t *testing.T) {
	eachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
		onRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
			for _, size := range []int{16 << 10, 64 << 10, 1 << 20} {
				const fibers = 20
				var held []*fiber.Fiber
				var orders []cbody.Order
				for range fibers {
					order := cbody.NewOrder(cbody.Task{Peer: root.Handle(), Turns: 10, Depth: size - 6<<10})
					cfg := fiber.Config{Name: "deep", Backend: b, StackSize: size}
					f, err := fiber.NewC(cfg, cbody.Deep, order.Pointer())
					require.NoError(t, err)
					held, orders = append(held, f), append(orders, order)
				}
				enterInAnyOrder(t, newRand(t), root, held)
				for i, f := range held {
					answer := orders[i].Answer()
					require.Equal(t, 10, answer.Done)
					require.Zero(t, answer.Broken)
					require.Greater(t, int(f.Stack().HighWater()), size-8<<10)
					orders[i].Free()
				}
				finish(t, held...)
			}
		})
	})
}

// Bodies in C call Go functions that switch away in mid-call.
func TestCBodyCallsGoThatSwitches(t *testing.T) {
	eachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
		onRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
			const count, calls = 20, 5
			fibers := make([]*fiber.Fiber, count)
			orders := make([]cbody.Order, count)
			calledBack := make([]int, count)
			for i := range fibers {
				orders[i] = cbody.NewOrder(cbody.Task{Turns: calls, Callback: func() {
					assert.Same(t, fibers[i], fiber.Current())
					leave(t, root)
					calledBack[i] += grow(i)
					leave(t, root)
					assert.Same(t, fibers[i], fiber.Current())
				}})
				fibers[i] = newCFiber(t, b, "calls Go", cbody.Call, orders[i].Pointer())
			}
			enterInAnyOrder(t, newRand(t), root, fibers)
			for i, f := range fibers {
				answer := orders[i].Answer()
				require.Equal(t, calls, answer.Done)
				require.Zero(t, answer.Broken)
				require.Equal(t, f.Handle(), answer.Self)
				require.Equal(t, calls*grow(i), calledBack[i])
				orders[i].Free()
			}
			finish(t, fibers...)
		})
	})
}

// Go calls C, C calls Go, that Go function switches away; the fibers go in and
// come out in any order.
func TestNestedCallsReturnOutOfOrder(t *testing.T) {
	eachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
		onRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
			const count, levels = 20, 8
			fibers := make([]*fiber.Fiber, count)
			traces := make([][]int, count)
			for i := range fibers {
				var descend func(level int)
				descend = func(level int) {
					assert.Same(t, fibers[i], fiber.Current())
					traces[i] = append(traces[i], level)
					leave(t, root)
					if level < levels {
						cbody.DeepCallGo(1000+100*i, func() { descend(level + 1) })
					}
					traces[i] = append(traces[i], level)
					leave(t, root)
				}
				cfg := fiber.Config{Name: "nested", Backend: b, StackSize: 256 << 10}
				var err error
				fibers[i], err = fiber.New(cfg, func() { descend(1) })
				require.NoError(t, err)
			}
			enterInAnyOrder(t, newRand(t), root, fibers)
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
			finish(t, fibers...)
		})
	})
}

// The root's own frames may nest as well, and a fiber made within a callback of
// another one may outlive that callback.
func TestFibersMadeInCallbacks(t *testing.T) {
	eachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
		onRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
			var inner *fiber.Fiber
			outer := newFiber(t, b, "outer", func() {
				cbody.CallGo(func() {
					var err error
					inner, err = fiber.New(fiber.Config{Name: "inner", Backend: b}, func() {
						cbody.CallGo(func() { leave(t, root) })
					})
					assert.NoError(t, err)
					leave(t, inner) // inner goes to the root, which comes back here
				})
			})
			cbody.CallGo(func() {
				assert.NoError(t, root.SwitchTo(outer))
				cbody.CallGo(func() { assert.NoError(t, root.SwitchTo(outer)) })
			})
			require.Equal(t, fiber.Finished, outer.State())
			finish(t, outer)
			enter(t, root, inner)
			finish(t, inner)
		})
	})
}

// fiberlab_switch serves Go functions as well as C bodies.
func TestGoBodySwitchesByC(t *testing.T) {
	eachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
		onRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
			turns := 0
			f := newFiber(t, b, "by C", func() {
				for range 100 {
					turns++
					assert.Zero(t, cbody.Switch(root.Handle()))
				}
			})
			for i := range 100 {
				require.Zero(t, cbody.Switch(f.Handle()))
				require.Equal(t, i+1, turns)
			}
			enter(t, root, f)
			finish(t, f)
		})
	})
}

func TestManyCBodiesHeld(t *testing.T) {
	eachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
		onRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
			count := scaled(10_000, 2000)
			before := fiber.ReadStats()
			fibers := make([]*fiber.Fiber, count)
			orders := make([]cbody.Order, count)
			for i := range fibers {
				orders[i] = cbody.NewOrder(cbody.Task{Peer: root.Handle(), Turns: 3})
				fibers[i] = newCFiber(t, b, "held", cbody.Turns, orders[i].Pointer())
			}
			require.Equal(t, fiber.Stats{Fibers: count, Stacks: count}, change(before))
			enterInAnyOrder(t, newRand(t), root, fibers)
			require.Equal(t, fiber.Stats{Fibers: count, Stacks: count}, change(before), "a C body takes no identity")
			for i := range fibers {
				answer := orders[i].Answer()
				require.Equal(t, 3, answer.Done)
				require.Zero(t, answer.Broken)
				orders[i].Free()
			}
			finish(t, fibers...)
		})
	})
}

// A C body that calls Go has an identity only while it lives: its carrier keeps
// none, so any number of them in turn costs no more than one.
func TestCBodiesGiveTheirIdentitiesBack(t *testing.T) {
	eachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
		onRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
			require.NoError(t, fiber.Drain())
			before := fiber.ReadStats()
			for range scaled(500, 100) {
				order := cbody.NewOrder(cbody.Task{Turns: 2, Callback: func() { leave(t, root) }})
				f := newCFiber(t, b, "calls Go", cbody.Call, order.Pointer())
				for range 3 {
					enter(t, root, f)
				}
				require.Equal(t, 2, order.Answer().Done)
				finish(t, f)
				order.Free()
			}
			require.Equal(t, fiber.Stats{Idle: 1, Stacks: 1}, change(before))
		})
	})
}
