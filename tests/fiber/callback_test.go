package fiber_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/tests/internal/fibertest"
	"fiberlab/tests/internal/leaks"
	"fiberlab/tests/internal/suite"
	"fiberlab/tests/internal/trapbody"
)

// A Go function that C has called may switch like any other: to fresh fibers, to the root, and to fibers inside or
// outside of such a function. The root may be in such a function too.
func TestSwitchInCallbacks(t *testing.T) {
	fibertest.EachRoot(t, func(t *testing.T, root *fiber.Fiber) {
		random := suite.NewRand(t)
		const n, rounds = 8, 40
		fibers := make([]*fiber.Fiber, n)
		entered := make([]int, n)
		next := func(self int) *fiber.Fiber {
			for {
				i := random.IntN(n + 1)
				if i == n {
					return root
				}
				if s := fibers[i].State(); i != self && (s == fiber.Ready || s == fiber.Suspended) {
					return fibers[i]
				}
				if random.IntN(4) == 0 {
					return root
				}
			}
		}
		for i := range fibers {
			fibers[i] = fibertest.New(t, root.Backend(), "called", func() {
				for range rounds {
					trapbody.Nest(random.IntN(4), func() {
						for range 1 + random.IntN(3) {
							assert.Same(t, fibers[i], fiber.Current())
							fibertest.Leave(t, next(i))
							assert.Same(t, fibers[i], fiber.Current())
						}
					})
					entered[i]++
				}
			})
		}
		for _, f := range fibers {
			for f.State() != fiber.Finished {
				trapbody.Nest(random.IntN(3), func() { fibertest.Enter(t, root, f) })
				require.Same(t, root, fiber.Current())
			}
		}
		for i := range fibers {
			assert.Equal(t, rounds, entered[i])
		}
		fibertest.Finish(t, fibers...)
		requireWorks(t, root)
	})
}

// A fiber inside a callback can continue on another root where the backend allows it. Its C frames stay on their
// thread, or move with the fiber's stack.
func TestCallbackMovesToAnotherRoot(t *testing.T) {
	suite.EachBackend(t, func(t *testing.T, b fiber.Backend) {
		turns := 0
		f := fibertest.New(t, b, "mover", func() {
			for range 10 {
				trapbody.Nest(2, func() {
					turns++
					fibertest.Leave(t, fiber.Current().Value().(*fiber.Fiber))
				})
			}
		})
		for f.State() != fiber.Finished {
			fibertest.OnAnotherRoot(t, b, func(root *fiber.Fiber) {
				f.SetValue(root)
				assert.NoError(t, root.SwitchTo(f))
			})
		}
		assert.Equal(t, 10, turns)
		fibertest.Finish(t, f)
	})
}

// A body may lock its thread, and need not unlock it; the next body is not locked by that.
func TestSwitchWhileLocked(t *testing.T) {
	fibertest.EachRoot(t, func(t *testing.T, root *fiber.Fiber) {
		for range 3 {
			f := fibertest.New(t, root.Backend(), "locked", func() {
				runtime.LockOSThread()
				runtime.LockOSThread()
				fibertest.Leave(t, root)
				runtime.UnlockOSThread()
				fibertest.Leave(t, root)
			})
			for f.State() != fiber.Finished {
				runtime.LockOSThread()
				fibertest.Enter(t, root, f)
				runtime.UnlockOSThread()
			}
			fibertest.Finish(t, f)
			requireWorks(t, root)
		}
	})
}

// Where a thread belongs to a root that is locked to it, a coroutine cannot leave it to another one
// while C has frames there. It is told so, and goes on.
func TestSwitchInCallbackOnLockedRoot(t *testing.T) {
	leaks.Check(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	fibertest.OnRoot(t, fiber.Goroutine, func(t *testing.T, root *fiber.Fiber) {
		f := fibertest.New(t, fiber.Goroutine, "called", func() {
			fibertest.Leave(t, root)
			trapbody.Nest(1, func() { assert.ErrorIs(t, fiber.Current().SwitchTo(root), fiber.ErrLocked) })
			runtime.LockOSThread()
			assert.ErrorIs(t, fiber.Current().SwitchTo(root), fiber.ErrLocked)
			runtime.UnlockOSThread()
			fibertest.Leave(t, root)
			runtime.LockOSThread() // ends with the body
		})
		fibertest.Enter(t, root, f)
		trapbody.Nest(1, func() { requireError(t, root.SwitchTo(f), fiber.ErrLocked, "switch", "called") })
		require.Equal(t, fiber.Suspended, f.State())
		fibertest.Enter(t, root, f)
		fibertest.Enter(t, root, f)
		fibertest.Finish(t, f)
		requireWorks(t, root)
	})
}
