package cxx_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/internal/threadtest"
	"fiberlab/tests/internal/cxxbody"
	"fiberlab/tests/internal/fibertest"
	"fiberlab/tests/internal/suite"
)

// Bodies in C++ switch inside catch clauses and destructors, in any order and on changing
// threads, and each finds its own exceptions again.
func TestExceptionsAreTheFibersOwn(t *testing.T) {
	suite.EachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
		rng := suite.NewRand(t)
		const turns, n = 5, 100
		var orders [n]cxxbody.Order
		var fibers [n]*fiber.Fiber
		for i := range fibers {
			orders[i] = cxxbody.NewOrder(i, turns)
			fibers[i] = fibertest.NewC(t, b, fmt.Sprint("catches ", i), cxxbody.Catch, orders[i].Pointer())
		}
		for left := n; left > 0; {
			fibertest.OnAnotherRoot(t, b, func(root *fiber.Fiber) {
				for range 4 * n {
					i := rng.IntN(n)
					if fibers[i].State() == fiber.Finished {
						continue
					}
					orders[i].SetPeer(root.Handle())
					if !fibertest.Leave(t, fibers[i]) {
						return
					}
					if fibers[i].State() == fiber.Finished {
						left--
					}
				}
			})
			if t.Failed() {
				t.FailNow()
			}
		}
		wrong := 0
		for i := range fibers {
			assert.Equal(t, cxxbody.Switches(turns), orders[i].Done())
			wrong += orders[i].Wrong()
			assert.NoError(t, fibers[i].Close())
			orders[i].Free()
		}
		require.Zero(t, wrong, "exceptions of %d fibers were not those of the body that looked", n)
	})
}

// A fiber keeps its exceptions when its root moves to another thread inside a catch clause, or on the way to one. A
// second body that handles exceptions at the same time does not disturb it.
func TestExceptionsUnderRootThatMoves(t *testing.T) {
	suite.EachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
		fibertest.OnRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
			const turns, n = 2, 3
			var orders [n]cxxbody.Order
			var fibers [n]*fiber.Fiber
			for i := range fibers {
				orders[i] = cxxbody.NewOrder(i, turns)
				defer orders[i].Free()
				orders[i].SetPeer(root.Handle())
				fibers[i] = fibertest.NewC(t, b, fmt.Sprint("catches ", i), cxxbody.Catch, orders[i].Pointer())
			}
			for range cxxbody.Switches(turns) {
				for _, f := range fibers {
					fibertest.Enter(t, root, f)
				}
				release, err := threadtest.Move(root.Untie, root.Tie)
				require.NoError(t, err)
				defer release()
			}
			for i, f := range fibers {
				fibertest.Enter(t, root, f)
				assert.Equal(t, cxxbody.Switches(turns), orders[i].Done())
				assert.Zero(t, orders[i].Wrong(), "exceptions were not those of the body that looked")
				fibertest.Finish(t, f)
			}
		})
	})
}
