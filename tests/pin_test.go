package tests

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
)

// A coroutine first entered from a goroutine that is locked to its thread stays
// with that one, and one that was not cannot be entered from there.
func TestPinnedCoroutines(t *testing.T) {
	noLeaks(t)
	b := fiber.Goroutine
	var now *fiber.Fiber
	body := func() { leave(t, now) }
	pinned, free := newFiber(t, b, "pinned", body), newFiber(t, b, "free", body)
	onRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
		now = root
		enter(t, root, free)
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
	onRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
		requireError(t, root.SwitchTo(pinned), fiber.ErrPinned, "switch", "pinned")
		require.Equal(t, fiber.Suspended, pinned.State())
		now = root
		enter(t, root, free)
		requireWorks(t, root)
	})
	locked <- func(root *fiber.Fiber) {
		now = root
		assert.NoError(t, root.SwitchTo(pinned))
	}
	<-done
	close(locked)
	<-done
	finish(t, pinned, free)
}

// A new fiber is nobody's, whoever it was that ran on its carrier before.
func TestNewFiberIsNotPinned(t *testing.T) {
	noLeaks(t)
	b := fiber.Goroutine
	run := func(t *testing.T, root *fiber.Fiber) {
		f := newFiber(t, b, "new", func() { leave(t, root) })
		enter(t, root, f)
		enter(t, root, f)
		finish(t, f)
	}
	onRoot(t, b, run)
	runtime.LockOSThread()
	onRoot(t, b, run)
	onRoot(t, b, run)
	runtime.UnlockOSThread()
	onRoot(t, b, run)
}
