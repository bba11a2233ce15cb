package tests

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
)

// A coroutine knows resume and yield only; a switch from fiber to fiber passes
// the root, which is not to be seen of it.
func TestCoroutinesSwitchAmongThemselves(t *testing.T) {
	noLeaks(t)
	random := newRand(t)
	onRoot(t, fiber.Goroutine, func(t *testing.T, root *fiber.Fiber) {
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
			leave(t, next(i))
			assert.Same(t, fibers[i], fiber.Current())
			entered[i]++
			total++
		}
		for i := range fibers {
			fibers[i] = newFiber(t, fiber.Goroutine, "peer", func() {
				entered[i]++
				total++
				for total < switches {
					called(i, random.IntN(5))
				}
			})
		}
		for total < switches {
			enter(t, root, fibers[random.IntN(n)])
			require.Same(t, root, fiber.Current())
			rootEntered++
		}
		for _, f := range fibers {
			for f.State() != fiber.Finished {
				enter(t, root, f)
			}
		}
		require.Greater(t, total, rootEntered, "no switch was direct")
		finish(t, fibers...)
	})
}

// The runtime ties a coroutine to the thread of the goroutine that made it, if
// that is locked: from anywhere else it is an error to resume it.
func TestPinnedCoroutine(t *testing.T) {
	noLeaks(t)
	var pinned, free *fiber.Fiber
	held, release, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		root, err := fiber.Attach(fiber.Goroutine)
		assert.NoError(t, err)
		body := func() { assert.NoError(t, fiber.Current().SwitchTo(root)) }
		pinned, err = fiber.New(fiber.Config{Name: "pinned", Backend: fiber.Goroutine}, body)
		assert.NoError(t, err)
		assert.NoError(t, root.SwitchTo(pinned))
		close(held)
		<-release
		assert.NoError(t, root.SwitchTo(pinned))
		assert.NoError(t, pinned.Close())
		assert.NoError(t, root.Detach())
	}()
	<-held
	onRoot(t, fiber.Goroutine, func(t *testing.T, root *fiber.Fiber) {
		err := root.SwitchTo(pinned)
		require.ErrorIs(t, err, fiber.ErrPinned)
		require.ErrorContains(t, err, "pinned")
		require.Equal(t, fiber.Suspended, pinned.State())
		require.Equal(t, fiber.Running, root.State())

		// One that was made here stays free, but cannot go where a root is locked.
		free = newFiber(t, fiber.Goroutine, "free", func() { leave(t, root) })
		enter(t, root, free)
		lockedDone := make(chan struct{})
		go func() {
			defer close(lockedDone)
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			other, err := fiber.Attach(fiber.Goroutine)
			assert.NoError(t, err)
			assert.ErrorIs(t, other.SwitchTo(free), fiber.ErrPinned)
			assert.NoError(t, other.Detach())
		}()
		<-lockedDone
		enter(t, root, free)
		finish(t, free)
	})
	close(release)
	<-done
}

// A new fiber may be entered from anywhere, whether or not its coroutine was used
// before, by a root of the other kind.
func TestNewCoroutineIsNotPinned(t *testing.T) {
	noLeaks(t)
	once := func() {
		root, err := fiber.Attach(fiber.Goroutine)
		assert.NoError(t, err)
		f, err := fiber.New(fiber.Config{Name: "new", Backend: fiber.Goroutine}, func() {})
		assert.NoError(t, err)
		assert.NoError(t, root.SwitchTo(f))
		assert.NoError(t, f.Close())
		assert.NoError(t, root.Detach())
	}
	locked := func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		once()
	}
	for _, run := range []func(){once, locked, locked, once, locked} {
		done := make(chan struct{})
		go func() {
			defer close(done)
			run()
		}()
		<-done
	}
}
