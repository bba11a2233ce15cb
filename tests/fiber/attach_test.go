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
)

func TestAttachAndDetachMisuse(t *testing.T) {
	suite.EachBackend(t, func(t *testing.T, b fiber.Backend) {
		root, err := fiber.Attach(b)
		require.NoError(t, err)
		for _, again := range fiber.Backends() {
			_, err := fiber.Attach(again)
			requireError(t, err, fiber.ErrAttached, "attach", root.Name())
		}
		elsewhere := make(chan error)
		go func() { elsewhere <- root.Detach() }()
		requireError(t, <-elsewhere, fiber.ErrNotCurrent, "detach", root.Name())
		fibertest.OnAnotherRoot(t, b, func(*fiber.Fiber) {
			assert.ErrorIs(t, root.Detach(), fiber.ErrNotCurrent)
		})

		f := fibertest.New(t, b, "f", func() {
			for _, again := range fiber.Backends() {
				_, err := fiber.Attach(again)
				assert.ErrorIs(t, err, fiber.ErrAttached)
				assert.ErrorContains(t, err, `"f"`)
			}
			assert.ErrorIs(t, root.Detach(), fiber.ErrNotCurrent)
			assert.ErrorIs(t, fiber.Current().Detach(), fiber.ErrNotRoot)
			fibertest.Leave(t, root)
		})
		requireError(t, f.Detach(), fiber.ErrNotRoot, "detach", "f")
		fibertest.Enter(t, root, f)
		requireError(t, f.Detach(), fiber.ErrNotRoot, "detach", "f")
		fibertest.Enter(t, root, f)
		fibertest.Finish(t, f)
		requireError(t, f.Detach(), fiber.ErrClosed, "detach", "f")
		requireWorks(t, root)

		require.NoError(t, root.Detach())
		require.Equal(t, fiber.Closed, root.State())
		requireError(t, root.Detach(), fiber.ErrClosed, "detach", root.Name())
		require.Nil(t, fiber.Current())

		// A root that is gone can neither leave nor be entered.
		fibertest.OnRoot(t, b, func(t *testing.T, next *fiber.Fiber) {
			requireError(t, next.SwitchTo(root), fiber.ErrClosed, "switch", root.Name())
			require.ErrorIs(t, root.SwitchTo(next), fiber.ErrNotCurrent)
			require.ErrorIs(t, root.Detach(), fiber.ErrClosed)
			require.Error(t, root.Close())
			requireWorks(t, next)
		})
	})
}

// A root that is locked to its thread cannot go while coroutines depend on it.
func TestDetachOfRootThatHoldsCoroutines(t *testing.T) {
	leaks.Check(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	root, err := fiber.Attach(fiber.Goroutine)
	require.NoError(t, err)
	never := fibertest.New(t, fiber.Goroutine, "never entered", func() {})
	held := fibertest.New(t, fiber.Goroutine, "held", func() { fibertest.Leave(t, root) })
	fibertest.Enter(t, root, held)
	requireError(t, root.Detach(), fiber.ErrHolds, "detach", root.Name())
	requireWorks(t, root)
	fibertest.Enter(t, root, held)
	fibertest.Finish(t, held)
	require.NoError(t, root.Detach())
	require.NoError(t, never.Close())
}

// Suspended fibers stay when their root detaches, and another root finishes them.
func TestFibersOutliveTheirRoot(t *testing.T) {
	suite.EachBackend(t, func(t *testing.T, b fiber.Backend) {
		var now *fiber.Fiber
		f := fibertest.New(t, b, "heirloom", func() {
			for range 5 {
				fibertest.Leave(t, now)
			}
		})
		for range 6 {
			fibertest.OnAnotherRoot(t, b, func(root *fiber.Fiber) {
				now = root
				assert.NoError(t, root.SwitchTo(f))
			})
		}
		fibertest.Finish(t, f)
	})
}
