package fiber_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/tests/internal/fibertest"
	"fiberlab/tests/internal/suite"
)

func TestClose(t *testing.T) {
	fibertest.EachRoot(t, func(t *testing.T, root *fiber.Fiber) {
		b := root.Backend()
		never := fibertest.New(t, b, "never entered", func() { t.Error("entered") })
		require.NoError(t, never.Close())
		require.Equal(t, fiber.Closed, never.State())
		require.ErrorIs(t, never.Close(), fiber.ErrClosed)

		var f *fiber.Fiber
		f = fibertest.New(t, b, "f", func() {
			assert.ErrorIs(t, f.Close(), fiber.ErrRunning)
			assert.ErrorIs(t, root.Close(), fiber.ErrRoot)
			fibertest.Leave(t, root)
		})
		fibertest.Enter(t, root, f)
		require.ErrorIs(t, f.Close(), fiber.ErrSuspended)
		require.Equal(t, fiber.Suspended, f.State())
		fibertest.Enter(t, root, f)
		require.Equal(t, fiber.Finished, f.State())
		require.NoError(t, f.Close())
		require.ErrorIs(t, f.Close(), fiber.ErrClosed)
		require.ErrorIs(t, root.Close(), fiber.ErrRoot)
	})
}

// A root that is detached is closed, and no longer a root.
func TestCloseDetachedRoot(t *testing.T) {
	suite.EachBackend(t, func(t *testing.T, b fiber.Backend) {
		root, err := fiber.Attach(b)
		require.NoError(t, err)
		require.NoError(t, root.Detach())
		requireError(t, root.Close(), fiber.ErrClosed, "close", root.Name())
	})
}

// Fibers that are never entered cost no identity and may be closed from any
// goroutine.
func TestCloseElsewhere(t *testing.T) {
	suite.EachBackend(t, func(t *testing.T, b fiber.Backend) {
		before := fiber.ReadStats().Identities
		fibers := make([]*fiber.Fiber, 100)
		for i := range fibers {
			fibers[i] = fibertest.New(t, b, "f", func() {})
		}
		require.Equal(t, before, fiber.ReadStats().Identities)
		fibertest.OnRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
			for _, f := range fibers[:50] {
				fibertest.Enter(t, root, f)
			}
		})
		errs := make(chan error, len(fibers))
		for _, f := range fibers {
			go func() { errs <- f.Close() }()
		}
		for range fibers {
			require.NoError(t, <-errs)
		}
	})
}

// Of several that close the same fiber at once, one does.
func TestCloseRace(t *testing.T) {
	suite.EachBackend(t, func(t *testing.T, b fiber.Backend) {
		for range suite.Scaled(2000, 200) {
			f := fibertest.New(t, b, "f", func() {})
			const closers = 4
			errs := make(chan error, closers)
			for range closers {
				go func() { errs <- f.Close() }()
			}
			done := 0
			for range closers {
				if err := <-errs; err == nil {
					done++
				} else {
					require.ErrorIs(t, err, fiber.ErrClosed)
				}
			}
			require.Equal(t, 1, done)
		}
	})
}

// What a closed fiber's body held can be collected, although its runner lives on
// in the pool.
func TestClosedFiberLetsGoOfItsBody(t *testing.T) {
	fibertest.EachRoot(t, func(t *testing.T, root *fiber.Fiber) {
		const count = 10
		collected := make(chan struct{}, count)
		for range count {
			func() {
				held := new([1 << 10]int)
				runtime.AddCleanup(held, func(int) { collected <- struct{}{} }, 0)
				f := fibertest.New(t, root.Backend(), "holds", func() { held[1]++ })
				fibertest.Enter(t, root, f)
				fibertest.Finish(t, f)
			}()
		}
		start := time.Now()
		for len(collected) < count {
			require.Less(t, time.Since(start), time.Minute, "%d of %d are still held", count-len(collected), count)
			runtime.GC()
		}
	})
}
