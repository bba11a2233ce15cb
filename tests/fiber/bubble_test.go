//go:build go1.25

package fiber_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/tests/internal/fibertest"
	"fiberlab/tests/internal/suite"
)

// Roots come and go in bubbles, whose timers no goroutine outside may touch, and elsewhere.
func TestRootsInBubbles(t *testing.T) {
	suite.EachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
		use := func(t *testing.T) {
			fibertest.OnRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
				// Of this size: no runner can serve on which the body of another test called Goexit.
				f, err := fiber.New(
					fiber.Config{Backend: b, Name: "f", StackSize: 5 * fiber.MinGoStack},
					func() { fibertest.Leave(t, root) },
				)
				require.NoError(t, err)
				fibertest.Enter(t, root, f)
				time.Sleep(time.Millisecond)
				fibertest.Enter(t, root, f)
				fibertest.Finish(t, f)
			})
		}
		require.NoError(t, fiber.Drain())
		drained := fiber.ReadStats().Idle
		for range 3 {
			synctest.Test(t, func(t *testing.T) {
				use(t)
				time.Sleep(time.Hour) // which passes at once, with all timers of the bubble
				use(t)
			})
			use(t)
		}
		require.Eventually(
			t, func() bool { return fiber.ReadStats().Idle == drained }, time.Minute, 10*time.Millisecond,
			"the pool drains itself after the last root outside",
		)
	})
}
