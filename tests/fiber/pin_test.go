package fiber_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/tests/internal/fibertest"
	"fiberlab/tests/internal/leaks"
)

// A coroutine first entered from a goroutine that is locked to its thread stays
// with that one, and one that was not cannot be entered from there.
func TestPinnedCoroutines(t *testing.T) {
	leaks.Check(t)
	b := fiber.Goroutine
	var now *fiber.Fiber
	body := func() { fibertest.Leave(t, now) }
	pinned, free := fibertest.New(t, b, "pinned", body), fibertest.New(t, b, "free", body)
	fibertest.OnRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
		now = root
		fibertest.Enter(t, root, free)
	})
	locked := make(chan func(*fiber.Fiber))
	done := make(chan bool)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		root, err := fiber.Attach(b)
		assert.NoError(t, err)
		for do := range locked {
			do(root)
			done <- true
		}
		assert.NoError(t, root.Detach())
		close(done)
	}()
	locked <- func(root *fiber.Fiber) {
		now = root
		assert.NoError(t, root.SwitchTo(pinned))
		err := root.SwitchTo(free)
		assert.ErrorIs(t, err, fiber.ErrPinned)
		assert.ErrorContains(t, err, `"free"`)
	}
	<-done
	fibertest.OnRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
		requireError(t, root.SwitchTo(pinned), fiber.ErrPinned, "switch", "pinned")
		require.Equal(t, fiber.Suspended, pinned.State())
		now = root
		fibertest.Enter(t, root, free)
		requireWorks(t, root)
	})
	locked <- func(root *fiber.Fiber) {
		now = root
		assert.NoError(t, root.SwitchTo(pinned))
	}
	<-done
	close(locked)
	<-done
	fibertest.Finish(t, pinned, free)
}

// A new fiber is pinned to no root, even if the last fiber on its runner was.
func TestNewFiberIsNotPinned(t *testing.T) {
	leaks.Check(t)
	b := fiber.Goroutine
	run := func(t *testing.T, root *fiber.Fiber) {
		f := fibertest.New(t, b, "new", func() { fibertest.Leave(t, root) })
		fibertest.Enter(t, root, f)
		fibertest.Enter(t, root, f)
		fibertest.Finish(t, f)
	}
	fibertest.OnRoot(t, b, run)
	runtime.LockOSThread()
	fibertest.OnRoot(t, b, run)
	fibertest.OnRoot(t, b, run)
	runtime.UnlockOSThread()
	fibertest.OnRoot(t, b, run)
}
