package fiber_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/tests/internal/fibertest"
	"fiberlab/tests/internal/leaks"
	"fiberlab/tests/internal/suite"
)

// A coroutine of iter.Pull knows resume and yield only; fibers that switch to one
// another sit in one another's coroutines, which is not to be seen of them.
func TestCoroutinesSwitchAmongThemselves(t *testing.T) {
	leaks.Check(t)
	random := suite.NewRand(t)
	fibertest.OnRoot(t, fiber.Goroutine, func(t *testing.T, root *fiber.Fiber) {
		const n, switches = 20, 2000
		fibers := make([]*fiber.Fiber, n)
		entered := make([]int, n)
		total, rootEntered := 0, 0
		next := func(i int) *fiber.Fiber {
			for {
				if j := random.IntN(n + 1); j == n {
					return root
				} else if j != i {
					return fibers[j]
				}
			}
		}
		var called func(i, depth int)
		called = func(i, depth int) { // nested calls between two switches
			if depth > 0 {
				called(i, depth-1)
				return
			}
			fibertest.Leave(t, next(i))
			assert.Same(t, fibers[i], fiber.Current())
			entered[i]++
			total++
		}
		for i := range fibers {
			fibers[i] = fibertest.New(t, fiber.Goroutine, "peer", func() {
				entered[i]++
				total++
				for total < switches {
					called(i, random.IntN(5))
				}
			})
		}
		for total < switches {
			fibertest.Enter(t, root, fibers[random.IntN(n)])
			require.Same(t, root, fiber.Current())
			rootEntered++
		}
		for _, f := range fibers {
			for f.State() != fiber.Finished {
				fibertest.Enter(t, root, f)
			}
		}
		require.Greater(t, total, rootEntered, "no switch was direct")
		fibertest.Finish(t, fibers...)
	})
}
