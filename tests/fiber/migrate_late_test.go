package fiber_test

import (
	"errors"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/tests/internal/fibertest"
	"fiberlab/tests/internal/leaks"
)

// A root tries to enter a suspended fiber too late, while the fiber and its coroutine run to their end. The root gets
// an error, and touches nothing of the coroutine.
func TestLateEntryOfAnEndingCoroutine(t *testing.T) {
	leaks.Check(t)
	b := fiber.Goroutine
	rounds := 20_000
	var target atomic.Pointer[fiber.Fiber]
	start, done := make(chan bool), make(chan error)
	const roots = 2
	for range roots {
		go func() {
			fibertest.OnAnotherRoot(t, b, func(root *fiber.Fiber) {
				for range start {
					f, err := target.Load(), error(nil)
					for err == nil || errors.Is(err, fiber.ErrRunning) {
						err = root.SwitchTo(f)
					}
					done <- err
				}
			})
			done <- nil
		}()
	}
	var home atomic.Pointer[fiber.Fiber]
	for range rounds {
		f := fibertest.New(t, b, "ending", func() {
			fibertest.Leave(t, home.Load())
			runtime.Goexit() // ends the coroutine with the body
		})
		target.Store(f)
		fibertest.OnRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
			home.Store(root)
			fibertest.Enter(t, root, f)
		})
		for range roots {
			start <- true
		}
		for range roots {
			assert.ErrorIs(t, <-done, fiber.ErrFinished)
		}
		fibertest.Finish(t, f)
	}
	close(start)
	for range roots {
		require.NoError(t, <-done)
	}
}
