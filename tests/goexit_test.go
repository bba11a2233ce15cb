package tests

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/tests/cbody"
)

// runtime.Goexit finishes the fiber as if its body had returned; what is deferred
// runs first, and may switch. FailNow of package testing ends the same way.
func TestGoexit(t *testing.T) {
	eachRoot(t, func(t *testing.T, root *fiber.Fiber) {
		ways := map[string]func(){
			"Goexit":  runtime.Goexit,
			"SkipNow": new(testing.T).SkipNow,
			"FailNow": new(testing.T).FailNow,
		}
		for name, exit := range ways {
			var trace []string
			f := newFiber(t, root.Backend(), name, func() {
				defer func() { trace = append(trace, "deferred") }()
				defer func() {
					assert.Nil(t, recover())
					leave(t, root)
				}()
				func() {
					trace = append(trace, "body")
					exit()
				}()
				trace = append(trace, "not reached")
			})
			enter(t, root, f)
			require.Equal(t, fiber.Suspended, f.State())
			enter(t, root, f)
			require.Equal(t, []string{"body", "deferred"}, trace)
			finish(t, f)
		}
	})
}

// Goexit in a Go function called by C that was called by the body.
func TestGoexitOverCFrames(t *testing.T) {
	eachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
		onRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
			for range 50 {
				deferred := false
				f := newFiber(t, b, "exits", func() {
					defer func() { deferred = true }()
					cbody.DeepCallGo(5000, func() {
						leave(t, root)
						runtime.Goexit()
					})
				})
				enter(t, root, f)
				enter(t, root, f)
				require.True(t, deferred)
				finish(t, f)

				after := newFiber(t, b, "after", func() { cbody.DeepCallGo(20_000, func() { leave(t, root) }) })
				enter(t, root, after)
				enter(t, root, after)
				finish(t, after)
			}
		})
	})
}

// The carrier of a body that called Goexit serves later fibers, any number of
// times, and is counted once. A coroutine just ends by it, when its fiber is closed.
func TestCarrierAfterGoexitIsReused(t *testing.T) {
	eachRoot(t, func(t *testing.T, root *fiber.Fiber) {
		require.NoError(t, fiber.Drain())
		run := func(body func()) {
			f := newFiber(t, root.Backend(), "f", body)
			enter(t, root, f)
			finish(t, f)
		}
		before := fiber.ReadStats()
		run(runtime.Goexit)
		once := fiber.ReadStats()
		if root.Backend() == fiber.Goroutine {
			require.Equal(t, before, once)
			run(func() {})
			once = fiber.ReadStats()
		}
		for range 1000 {
			sum := 0
			run(func() { sum = grow(20) })
			require.Equal(t, grow(20), sum)
		}
		require.Equal(t, once, fiber.ReadStats())
		for range 100 {
			run(runtime.Goexit)
			run(func() {})
		}
		require.Equal(t, once, fiber.ReadStats(), "one carrier, however often its bodies exit")
	})
}

// Bodies that end by Goexit leave frames on the Go stack of their carrier, so a
// carrier is given up after a thousand of them: the stack never overflows. The
// goroutine backend keeps nothing of them.
func TestManyGoexitsAreBounded(t *testing.T) {
	eachRoot(t, func(t *testing.T, root *fiber.Fiber) {
		const carriers = 5
		before := fiber.ReadStats()
		for range carriers * 1000 {
			f := newFiber(t, root.Backend(), "exits", runtime.Goexit)
			enter(t, root, f)
			finish(t, f)
		}
		after := change(before)
		if root.Backend() == fiber.Goroutine {
			require.Equal(t, fiber.Stats{}, after)
			return
		}
		require.InDelta(t, carriers, after.Stranded, 1, "carriers used up")
		require.InDelta(t, carriers, after.Identities, 1)
		require.InDelta(t, carriers, after.Stacks, 1)
		require.LessOrEqual(t, after.Idle, 1, "those are not handed out again")
	})
}
