package fiber_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/tests/internal/fibertest"
	"fiberlab/tests/internal/leaks"
)

// The zero Fiber was never made, and every method says so or answers nothing.
func TestZeroFiber(t *testing.T) {
	leaks.Check(t)
	for name, f := range map[string]*fiber.Fiber{"nil": nil, "zero": new(fiber.Fiber)} {
		t.Run(name, func(t *testing.T) {
			requireError(t, f.Close(), fiber.ErrNotMade, "close", "")
			requireError(t, f.Detach(), fiber.ErrNotMade, "detach", "")
			require.Equal(t, fiber.Closed, f.State())
			require.NotPanics(t, func() {
				require.Empty(t, f.Name())
				require.Equal(t, fiber.Default, f.Backend())
				require.Nil(t, f.Handle())
				require.Nil(t, f.Stack())
				require.Nil(t, f.Value())
			})
		})
	}
}

// The old name of a runner that serves another fiber now does not reach that one.
func TestStaleFiber(t *testing.T) {
	fibertest.EachRoot(t, func(t *testing.T, root *fiber.Fiber) {
		old := fibertest.New(t, root.Backend(), "old", func() {})
		fibertest.Enter(t, root, old)
		fibertest.Finish(t, old)
		entered := 0
		user := fibertest.New(t, root.Backend(), "user", func() {
			entered++
			assert.ErrorIs(t, old.SwitchTo(root), fiber.ErrNotCurrent)
			assert.ErrorIs(t, fiber.Current().SwitchTo(old), fiber.ErrClosed, "another fiber runs here now")
			fibertest.Leave(t, root)
		})
		if root.Backend() != fiber.Goroutine {
			require.Equal(t, old.Handle(), user.Handle(), "the runner is the same")
		}
		stale := func() {
			t.Helper()
			requireError(t, root.SwitchTo(old), fiber.ErrClosed, "switch", "old")
			requireError(t, old.Close(), fiber.ErrClosed, "close", "old")
			require.Equal(t, fiber.Closed, old.State())
		}
		stale() // user is Ready
		fibertest.Enter(t, root, user)
		require.Equal(t, 1, entered)
		stale() // Suspended
		require.Equal(t, fiber.Suspended, user.State())
		fibertest.Enter(t, root, user)
		stale() // Finished
		fibertest.Finish(t, user)
		stale()
		require.NoError(t, fiber.Drain())
		stale()
		requireWorks(t, root)
	})
}
