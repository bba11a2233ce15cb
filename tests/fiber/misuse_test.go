package fiber_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/tests/internal/fibertest"
	"fiberlab/tests/internal/suite"
)

// requireError demands an *Error that wraps want and names operation and fiber.
func requireError(t *testing.T, err, want error, op, name string) {
	t.Helper()
	require.ErrorIs(t, err, want)
	var e *fiber.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, op, e.Op)
	require.Equal(t, name, e.Fiber)
	require.ErrorContains(t, err, want.Error())
	require.ErrorContains(t, err, op)
	require.ErrorContains(t, err, name)
}

// requireWorks demands that root can still run fibers.
func requireWorks(t *testing.T, root *fiber.Fiber) {
	t.Helper()
	turns := 0
	f := fibertest.New(t, root.Backend(), "after an error", func() {
		turns++
		fibertest.Leave(t, root)
		turns++
	})
	require.Same(t, root, fiber.Current())
	fibertest.Enter(t, root, f)
	fibertest.Enter(t, root, f)
	require.Equal(t, 2, turns)
	fibertest.Finish(t, f)
	require.Equal(t, fiber.Running, root.State())
}

func TestSwitchNil(t *testing.T) {
	fibertest.EachRoot(t, func(t *testing.T, root *fiber.Fiber) {
		var nothing *fiber.Fiber
		requireError(t, nothing.SwitchTo(root), fiber.ErrNoFiber, "switch", "")
		requireError(t, root.SwitchTo(nil), fiber.ErrNotMade, "switch", "")
		requireWorks(t, root)
		zero := new(fiber.Fiber)
		requireError(t, zero.SwitchTo(root), fiber.ErrNoFiber, "switch", "")
		requireError(t, root.SwitchTo(zero), fiber.ErrNotMade, "switch", "")
		requireWorks(t, root)
	})
}

func TestSwitchToSelf(t *testing.T) {
	fibertest.EachRoot(t, func(t *testing.T, root *fiber.Fiber) {
		requireError(t, root.SwitchTo(root), fiber.ErrSelf, "switch", root.Name())
		f := fibertest.New(t, root.Backend(), "narcissus", func() {
			me := fiber.Current()
			err := me.SwitchTo(me)
			assert.ErrorIs(t, err, fiber.ErrSelf)
			assert.ErrorContains(t, err, "narcissus")
			assert.Equal(t, fiber.Running, me.State())
			fibertest.Leave(t, root)
		})
		fibertest.Enter(t, root, f)
		requireWorks(t, root)
		fibertest.Enter(t, root, f)
		fibertest.Finish(t, f)
	})
}

func TestSwitchToFinishedAndClosed(t *testing.T) {
	fibertest.EachRoot(t, func(t *testing.T, root *fiber.Fiber) {
		f := fibertest.New(t, root.Backend(), "over", func() {})
		fibertest.Enter(t, root, f)
		requireError(t, root.SwitchTo(f), fiber.ErrFinished, "switch", "over")
		require.Equal(t, fiber.Finished, f.State())
		requireWorks(t, root)
		fibertest.Finish(t, f)
		requireError(t, root.SwitchTo(f), fiber.ErrClosed, "switch", "over")
		requireWorks(t, root)

		unused := fibertest.New(t, root.Backend(), "unused", func() { t.Error("entered") })
		require.NoError(t, unused.Close())
		requireError(t, root.SwitchTo(unused), fiber.ErrClosed, "switch", "unused")
		requireWorks(t, root)
	})
}

func TestSwitchFromPlainGoroutine(t *testing.T) {
	fibertest.EachRoot(t, func(t *testing.T, root *fiber.Fiber) {
		f := fibertest.New(t, root.Backend(), "ready", func() { fibertest.Leave(t, root) })
		elsewhere := func(from, to *fiber.Fiber) error {
			err := make(chan error)
			go func() { err <- from.SwitchTo(to) }()
			return <-err
		}
		requireError(t, elsewhere(root, f), fiber.ErrNoFiber, "switch", "ready")
		requireError(t, elsewhere(f, root), fiber.ErrNoFiber, "switch", root.Name())
		fibertest.Enter(t, root, f)
		requireError(t, elsewhere(root, f), fiber.ErrNoFiber, "switch", "ready")
		requireError(t, elsewhere(f, root), fiber.ErrNoFiber, "switch", root.Name())
		require.Equal(t, fiber.Suspended, f.State())
		fibertest.Enter(t, root, f)
		fibertest.Finish(t, f)
		requireWorks(t, root)
	})
}

func TestSwitchFromAnotherThanTheCurrent(t *testing.T) {
	fibertest.EachRoot(t, func(t *testing.T, root *fiber.Fiber) {
		b := root.Backend()
		ready := fibertest.New(t, b, "ready", func() {})
		held := fibertest.New(t, b, "held", func() { fibertest.Leave(t, root) })
		fibertest.Enter(t, root, held)
		requireError(t, held.SwitchTo(ready), fiber.ErrNotCurrent, "switch", "ready")
		requireError(t, ready.SwitchTo(held), fiber.ErrNotCurrent, "switch", "held")
		requireError(t, held.SwitchTo(root), fiber.ErrNotCurrent, "switch", root.Name())
		inside := fibertest.New(t, b, "inside", func() {
			assert.ErrorIs(t, root.SwitchTo(held), fiber.ErrNotCurrent)
			assert.ErrorIs(t, held.SwitchTo(root), fiber.ErrNotCurrent)
		})
		fibertest.Enter(t, root, inside)
		fibertest.Finish(t, inside)
		fibertest.Enter(t, root, held)
		fibertest.Finish(t, held)
		require.ErrorIs(t, held.SwitchTo(ready), fiber.ErrNotCurrent)
		require.NoError(t, ready.Close())
		requireWorks(t, root)
	})
}

func TestSwitchToForeignRoot(t *testing.T) {
	fibertest.EachRoot(t, func(t *testing.T, root *fiber.Fiber) {
		b := root.Backend()
		// A foreign root that runs is running elsewhere; a foreign root that is suspended is
		// another thread's.
		fibertest.OnAnotherRoot(t, b, func(other *fiber.Fiber) {
			assert.ErrorIs(t, other.SwitchTo(root), fiber.ErrRunning)
		})
		f := fibertest.New(t, b, "between", func() {
			fibertest.OnAnotherRoot(t, b, func(other *fiber.Fiber) {
				err := other.SwitchTo(root)
				assert.ErrorIs(t, err, fiber.ErrForeignRoot)
				assert.ErrorContains(t, err, root.Name())
				assert.ErrorIs(t, other.SwitchTo(fiber.Current()), fiber.ErrSelf)
			})
		})
		fibertest.Enter(t, root, f)
		fibertest.Finish(t, f)
		requireWorks(t, root)
	})
}

func TestSwitchToRunningElsewhere(t *testing.T) {
	fibertest.EachRoot(t, func(t *testing.T, root *fiber.Fiber) {
		var f *fiber.Fiber
		f = fibertest.New(t, root.Backend(), "busy", func() {
			fibertest.OnAnotherRoot(t, root.Backend(), func(other *fiber.Fiber) {
				err := other.SwitchTo(f)
				assert.ErrorIs(t, err, fiber.ErrRunning)
				assert.ErrorContains(t, err, `"busy"`)
			})
			fibertest.Leave(t, root)
		})
		fibertest.Enter(t, root, f)
		requireWorks(t, root)
		fibertest.Enter(t, root, f)
		fibertest.Finish(t, f)
	})
}

func TestMixedBackends(t *testing.T) {
	suite.EachBackend(t, func(t *testing.T, b fiber.Backend) {
		foreign := fiber.Goroutine
		if b == fiber.Goroutine {
			foreign = suite.HandSwitched[0]
		}
		fibertest.OnRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
			f := fibertest.New(t, foreign, "stranger", func() { t.Error("entered") })
			requireError(t, root.SwitchTo(f), fiber.ErrMixed, "switch", "stranger")
			requireError(t, f.SwitchTo(root), fiber.ErrMixed, "switch", root.Name())
			require.Equal(t, fiber.Ready, f.State())
			requireWorks(t, root)
			require.NoError(t, f.Close())
		})
	})
}
