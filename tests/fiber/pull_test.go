package fiber_test

import (
	"iter"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/tests/internal/child"
	"fiberlab/tests/internal/fibertest"
	"fiberlab/tests/internal/suite"
)

// Where a root is locked to its thread before it attaches, so are its coroutines: each may switch from within what it
// pulls. Others that run before it ends may pull as well.
func TestSwitchInPull(t *testing.T) {
	suite.EachBackend(t, func(t *testing.T, b fiber.Backend) {
		require.NoError(t, onLockedGoroutine(func() {
			root, err := fiber.Attach(b)
			if !assert.NoError(t, err) {
				return
			}
			const n, values = 5, 6
			sums := make([]int, n)
			fibers := make([]*fiber.Fiber, n)
			for i := range fibers {
				fibers[i] = fibertest.New(t, b, "pulls", func() {
					next, stop := iter.Pull(func(yield func(int) bool) {
						for v := range values {
							assert.Same(t, fibers[i], fiber.Current())
							assert.True(t, fibers[i].IsCurrent())
							assert.False(t, root.IsCurrent())
							if j := (i + 1) % n; fibers[j].State() == fiber.Ready ||
								fibers[j].State() == fiber.Suspended {
								fibertest.Leave(t, fibers[j])
							} else {
								fibertest.Leave(t, root)
							}
							if !yield(v) {
								return
							}
						}
					})
					defer stop()
					for v, ok := next(); ok; v, ok = next() {
						sums[i] += v
						fibertest.Leave(t, root)
					}
				})
			}
			for _, f := range fibers {
				for f.State() != fiber.Finished {
					assert.NoError(t, root.SwitchTo(f))
					assert.Same(t, root, fiber.Current())
				}
			}
			for i, f := range fibers {
				assert.Equal(t, values*(values-1)/2, sums[i])
				assert.NoError(t, f.Close())
			}
			assert.NoError(t, root.Detach())
		}))
	})
}

var pullElsewhere = child.New("pull elsewhere", func(t child.T, b fiber.Backend) {
	root, err := fiber.Attach(b)
	require.NoError(t, err)
	var next func() (int, bool)
	made := make(chan struct{}, 1)
	maker, err := fiber.New(fiber.Config{Backend: b}, func() {
		next, _ = iter.Pull(func(yield func(int) bool) {
			for i := 1; yield(i); i++ {
			}
		})
		made <- struct{}{}
	})
	require.NoError(t, err)
	other, err := fiber.New(fiber.Config{Backend: b}, func() {
		for want := 1; want < 4; want++ {
			v, ok := next()
			require.True(t, ok)
			require.Equal(t, want, v)
		}
	})
	require.NoError(t, err)
	require.NoError(t, root.SwitchTo(maker))
	<-made
	require.NoError(t, root.SwitchTo(other))
})

// What docs/programs.md says of a coroutine of iter.Pull that one fiber has made and another asks for values.
func TestPullElsewhere(t *testing.T) {
	suite.EachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
		require.Contains(t, child.RunCrash(t, pullElsewhere, b), "coro: OS thread locking must match")
	})
	child.RunOK(t, pullElsewhere, fiber.Goroutine)
}
