package cxx_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
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
