package fiber_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/tests/internal/cbody"
	"fiberlab/tests/internal/fibertest"
	"fiberlab/tests/internal/suite"
)

// Two C bodies that switch to one another keep what they have in registers.
func TestCBodies(t *testing.T) {
	suite.EachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
		fibertest.OnRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
			const turns = 10_000
			one, other := cbody.NewOrder(cbody.Task{Turns: turns}), cbody.NewOrder(cbody.Task{Turns: turns})
			defer one.Free()
			defer other.Free()
			f := fibertest.NewC(t, b, "one", cbody.Turns, one.Pointer())
			g := fibertest.NewC(t, b, "other", cbody.Turns, other.Pointer())
			one.SetPeer(g.Handle())
			other.SetPeer(f.Handle())
			fibertest.Enter(t, root, f) // until one returns; other still waits in its last switch
			require.Equal(t, fiber.Finished, f.State())
			require.Equal(t, fiber.Suspended, g.State())
			fibertest.Enter(t, root, g)
			for order, f := range map[cbody.Order]*fiber.Fiber{one: f, other: g} {
				answer := order.Answer()
				require.Equal(t, turns, answer.Done)
				require.Zero(t, answer.Broken)
				require.Zero(t, answer.Code)
				require.Equal(t, f.Handle(), answer.Self)
			}
			fibertest.Finish(t, f, g)
		})
	})
}

// A C body may use nearly all of its stack, and be left there.
func TestDeepCBody(t *testing.T) {
	suite.EachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
		fibertest.OnRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
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
				enterInAnyOrder(t, suite.NewRand(t), root, held)
				for i, f := range held {
					answer := orders[i].Answer()
					require.Equal(t, 10, answer.Done)
					require.Zero(t, answer.Broken)
					require.Greater(t, int(f.Stack().HighWater()), size-8<<10)
					orders[i].Free()
				}
				fibertest.Finish(t, held...)
			}
		})
	})
}

// fiberlab_switch serves Go functions as well as C bodies.
func TestGoBodySwitchesByC(t *testing.T) {
	suite.EachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
		fibertest.OnRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
			turns := 0
			f := fibertest.New(t, b, "by C", func() {
				for range 100 {
					turns++
					assert.Zero(t, cbody.Switch(root.Handle()))
				}
			})
			for i := range 100 {
				require.Zero(t, cbody.Switch(f.Handle()))
				require.Equal(t, i+1, turns)
			}
			fibertest.Enter(t, root, f)
			fibertest.Finish(t, f)
		})
	})
}

// A C body that calls Go has an identity only while it lives: its runner keeps
// none, so any number of them in turn costs no more than one.
func TestCBodiesGiveTheirIdentitiesBack(t *testing.T) {
	suite.EachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
		fibertest.OnRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
			require.NoError(t, fiber.Drain())
			before := fiber.ReadStats()
			for range suite.Scaled(500, 100) {
				order := cbody.NewOrder(cbody.Task{Turns: 2, Callback: func() { fibertest.Leave(t, root) }})
				f := fibertest.NewC(t, b, "calls Go", cbody.Call, order.Pointer())
				for range 3 {
					fibertest.Enter(t, root, f)
				}
				require.Equal(t, 2, order.Answer().Done)
				fibertest.Finish(t, f)
				order.Free()
			}
			require.Equal(t, fiber.Stats{Idle: 1, Stacks: 1}, change(before))
		})
	})
}
