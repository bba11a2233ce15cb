package fiber_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/tests/internal/cbody"
	"fiberlab/tests/internal/fibertest"
	"fiberlab/tests/internal/suite"
)

// runtime.Goexit finishes the fiber as if its body had returned. Deferred functions run first, and may switch. FailNow
// of package testing ends the same way.
func TestGoexit(t *testing.T) {
	fibertest.EachRoot(t, func(t *testing.T, root *fiber.Fiber) {
		ways := map[string]func(){
			"Goexit":  runtime.Goexit,
			"SkipNow": new(testing.T).SkipNow,
			"FailNow": new(testing.T).FailNow,
		}
		for name, exit := range ways {
			var trace []string
			f := fibertest.New(t, root.Backend(), name, func() {
				defer func() { trace = append(trace, "deferred") }()
				defer func() {
					assert.Nil(t, recover())
					fibertest.Leave(t, root)
				}()
				func() {
					trace = append(trace, "body")
					exit()
				}()
				trace = append(trace, "not reached")
			})
			fibertest.Enter(t, root, f)
			require.Equal(t, fiber.Suspended, f.State())
			fibertest.Enter(t, root, f)
			require.Equal(t, []string{"body", "deferred"}, trace)
			fibertest.Finish(t, f)
		}
	})
}

// Goexit in a Go function called by C that was called by the body.
func TestGoexitOverCFrames(t *testing.T) {
	suite.EachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
		fibertest.OnRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
			for range 50 {
				deferred := false
				f := fibertest.New(t, b, "exits", func() {
					defer func() { deferred = true }()
					cbody.DeepCallGo(5000, func() {
						fibertest.Leave(t, root)
						runtime.Goexit()
					})
				})
				fibertest.Enter(t, root, f)
				fibertest.Enter(t, root, f)
				require.True(t, deferred)
				fibertest.Finish(t, f)

				after := fibertest.New(
					t, b, "after", func() { cbody.DeepCallGo(20_000, func() { fibertest.Leave(t, root) }) },
				)
				fibertest.Enter(t, root, after)
				fibertest.Enter(t, root, after)
				fibertest.Finish(t, after)
			}
		})
	})
}

// The runner of a body that called Goexit serves later fibers, any number of
// times, and is counted once. A coroutine just ends by it, when its fiber is closed.
func TestRunnerAfterGoexitIsReused(t *testing.T) {
	fibertest.EachRoot(t, func(t *testing.T, root *fiber.Fiber) {
		require.NoError(t, fiber.Drain())
		run := func(body func()) {
			f := fibertest.New(t, root.Backend(), "f", body)
			fibertest.Enter(t, root, f)
			fibertest.Finish(t, f)
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
		require.Equal(t, once, fiber.ReadStats(), "one runner, however often its bodies exit")
	})
}

// Bodies that end by Goexit leave frames on the Go stack of their runner, so a
// runner is given up after a thousand of them: the stack never overflows. The
// goroutine backend keeps nothing of them.
func TestManyGoexitsAreBounded(t *testing.T) {
	fibertest.EachRoot(t, func(t *testing.T, root *fiber.Fiber) {
		const runners = 5
		before := fiber.ReadStats()
		for range runners * 1000 {
			f := fibertest.New(t, root.Backend(), "exits", runtime.Goexit)
			fibertest.Enter(t, root, f)
			fibertest.Finish(t, f)
		}
		after := change(before)
		if root.Backend() == fiber.Goroutine {
			require.Equal(t, fiber.Stats{}, after)
			return
		}
		require.InDelta(t, runners, after.Stranded, 1, "runners used up")
		require.InDelta(t, runners, after.Identities, 1)
		require.InDelta(t, runners, after.Stacks, 1)
		require.LessOrEqual(t, after.Idle, 1, "those are not handed out again")
	})
}
