package fiber_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/tests/internal/suite"
)

// Of several that drain the pool at once, as it does itself after its last root, none comes back before all is gone.
func TestDrainWaitsForAnother(t *testing.T) {
	suite.EachBackend(t, func(t *testing.T, b fiber.Backend) {
		require.NoError(t, fiber.Drain())
		drained := fiber.ReadStats()
		for range suite.Scaled(20, 5) {
			require.NoError(t, fiber.Prewarm(fiber.Config{Backend: b}, 50))
			type answer struct {
				err  error
				left fiber.Stats
			}
			const callers = 3
			answers := make(chan answer)
			for range callers {
				go func() {
					err := fiber.Drain()
					answers <- answer{err, change(drained)}
				}()
			}
			for range callers {
				a := <-answers
				require.NoError(t, a.err)
				require.Equal(t, fiber.Stats{}, a.left)
			}
		}
	})
}
