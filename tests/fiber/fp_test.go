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

var roundingModes = []cbody.RoundingMode{cbody.ToNearest, cbody.Upward, cbody.Downward, cbody.TowardZero}

// withRounding runs do while the calling fiber has that rounding mode.
func withRounding(mode cbody.RoundingMode, do func()) {
	old := cbody.Rounding()
	cbody.SetRounding(mode)
	defer cbody.SetRounding(old)
	do()
}

// Fibers with different modes, left and entered in any order, by a root with any
// mode: each finds its own, and a new one the default.
func TestRoundingModeOfCBodies(t *testing.T) {
	suite.EachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
		fibertest.OnRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
			rng := suite.NewRand(t)
			for _, mine := range roundingModes {
				withRounding(mine, func() {
					words := cbody.ControlWords()
					var fibers []*fiber.Fiber
					var orders []cbody.Order
					for i := range 12 {
						order := cbody.NewOrder(cbody.Task{Peer: root.Handle(), Turns: 20, Mode: roundingModes[i%4]})
						orders = append(orders, order)
						fibers = append(fibers, fibertest.NewC(t, b, "rounds", cbody.Round, order.Pointer()))
					}
					for i := 0; i < 12*21; i++ {
						f := fibers[rng.IntN(len(fibers))]
						if f.State() != fiber.Finished {
							fibertest.Enter(t, root, f)
						}
						require.Equal(t, words, cbody.ControlWords())
					}
					for i, f := range fibers {
						for f.State() != fiber.Finished {
							fibertest.Enter(t, root, f)
							require.Equal(t, words, cbody.ControlWords())
						}
						answer := orders[i].Answer()
						require.Zero(t, answer.Code)
						require.Zero(t, answer.Broken)
						require.Equal(t, 20, answer.Done)
						require.Equal(t, cbody.ToNearest, answer.ModeBefore)
						require.Equal(t, roundingModes[i%4], answer.ModeAfter)
						orders[i].Free()
					}
					fibertest.Finish(t, fibers...)
				})
			}
		})
	})
}

func TestRoundingModeOfGoBodies(t *testing.T) {
	suite.EachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
		fibertest.OnRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
			words := cbody.ControlWords()
			var fibers []*fiber.Fiber
			for _, mode := range roundingModes {
				fibers = append(fibers, fibertest.New(t, b, "rounds", func() {
					assert.Equal(t, cbody.ToNearest, cbody.Rounding())
					withRounding(mode, func() {
						for range 10 {
							fibertest.Leave(t, root)
							assert.Equal(t, mode, cbody.Rounding())
						}
					})
				}))
			}
			for range 11 {
				for _, f := range fibers {
					fibertest.Enter(t, root, f)
					require.Equal(t, words, cbody.ControlWords())
				}
			}
			fibertest.Finish(t, fibers...)
		})
	})
}

// A body that ends in a mode that it has set leaves it neither to its root nor to the
// next fiber on its runner.
func TestRoundingModeEndsWithTheFiber(t *testing.T) {
	suite.EachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
		fibertest.OnRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
			words := cbody.ControlWords()
			for _, mode := range roundingModes {
				order := cbody.NewOrder(cbody.Task{Mode: mode})
				f := fibertest.NewC(t, b, "rounds", cbody.Round, order.Pointer())
				fibertest.Enter(t, root, f)
				require.Equal(t, cbody.ToNearest, order.Answer().ModeBefore)
				require.Equal(t, words, cbody.ControlWords())
				fibertest.Finish(t, f)
				order.Free()
			}
			for _, mode := range roundingModes {
				var found cbody.RoundingMode
				f := fibertest.New(t, b, "rounds", func() {
					found = cbody.Rounding()
					cbody.SetRounding(mode)
				})
				fibertest.Enter(t, root, f)
				require.Equal(t, words, cbody.ControlWords())
				fibertest.Finish(t, f)
				assert.Equal(t, cbody.ToNearest, found, "a new fiber on a pooled runner")
			}
			require.NoError(t, fiber.Drain()) // the runner, and its odd mode
		})
	})
}
