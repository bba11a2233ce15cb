package fiber_test

import (
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/stack"
	"fiberlab/tests/internal/cbody"
	"fiberlab/tests/internal/fibertest"
	"fiberlab/tests/internal/leaks"
	"fiberlab/tests/internal/suite"
)

func TestNoBody(t *testing.T) {
	suite.EachBackend(t, func(t *testing.T, b fiber.Backend) {
		f, err := fiber.New(fiber.Config{Name: "empty", Backend: b}, nil)
		requireError(t, err, fiber.ErrNoBody, "new", "empty")
		require.Nil(t, f)
		f, err = fiber.NewC(fiber.Config{Name: "empty", Backend: b}, nil, nil)
		requireError(t, err, fiber.ErrNoBody, "new", "empty")
		require.Nil(t, f)
	})
}

func TestCBodyOnGoroutine(t *testing.T) {
	leaks.Check(t)
	f, err := fiber.NewC(fiber.Config{Name: "c", Backend: fiber.Goroutine}, cbody.Return, nil)
	requireError(t, err, fiber.ErrBackend, "new", "c")
	require.Nil(t, f)
}

func TestBadStackSizes(t *testing.T) {
	suite.EachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
		refuse := func(size int, wanted ...error) {
			t.Helper()
			before := fiber.ReadStats()
			cfg := fiber.Config{Name: "odd", Backend: b, StackSize: size}
			for _, makeOne := range []func() (*fiber.Fiber, error){
				func() (*fiber.Fiber, error) { return fiber.New(cfg, func() {}) },
				func() (*fiber.Fiber, error) { return fiber.NewC(cfg, cbody.Return, nil) },
			} {
				f, err := makeOne()
				require.Nil(t, f)
				var e *fiber.Error
				require.ErrorAs(t, err, &e)
				require.Equal(t, "odd", e.Fiber)
				matches := false
				for _, want := range wanted {
					matches = matches || errors.Is(err, want)
				}
				require.True(t, matches, "%d bytes: %v", size, err)
			}
			require.Equal(t, before, fiber.ReadStats())
		}
		fibertest.OnRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
			for _, size := range []int{-1, -4096, math.MinInt} {
				refuse(size, stack.ErrSize, fiber.ErrStackSize)
			}
			for _, size := range []int{math.MaxInt, math.MaxInt - 4096, 1 << 60, 1 << 46} {
				refuse(size, stack.ErrSize, stack.ErrExhausted, fiber.ErrStackSize)
			}
			for _, size := range []int{1, 4096, fiber.MinGoStack - 1} {
				f, err := fiber.New(fiber.Config{Name: "tiny", Backend: b, StackSize: size}, func() {})
				requireError(t, err, fiber.ErrStackSize, "new", "tiny")
				require.Nil(t, f)
			}
			requireWorks(t, root)
		})
	})
}

// Sizes that are not whole pages are rounded up, and C bodies may have small ones.
func TestStackSizes(t *testing.T) {
	suite.EachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
		fibertest.OnRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
			require.Nil(t, root.Stack())
			for _, size := range []int{0, 1, 5000, 16 << 10, fiber.MinGoStack, fiber.MinGoStack + 1, 1 << 20, 64 << 20} {
				want := size
				if size == 0 {
					want = stack.DefaultSize
				}
				cfg := fiber.Config{Name: "sized", Backend: b, StackSize: size}
				order := cbody.NewOrder(cbody.Task{})
				f, err := fiber.NewC(cfg, cbody.Return, order.Pointer())
				require.NoError(t, err)
				have := int(f.Stack().Hi() - f.Stack().Lo())
				require.GreaterOrEqual(t, have, want)
				require.Less(t, have, want+64<<10, "rounded to whole pages")
				fibertest.Enter(t, root, f)
				require.Equal(t, 1, order.Answer().Done)
				order.Free()
				fibertest.Finish(t, f)
				if want < fiber.MinGoStack {
					continue
				}
				g, err := fiber.New(cfg, func() { grow(100) })
				require.NoError(t, err)
				fibertest.Enter(t, root, g)
				fibertest.Finish(t, g)
			}
		})
	})
}

func TestUnknownBackend(t *testing.T) {
	leaks.Check(t)
	unknown := fiber.Backend(77)
	refused := func(b fiber.Backend) {
		t.Helper()
		_, err := fiber.New(fiber.Config{Name: "lost", Backend: b}, func() {})
		requireError(t, err, fiber.ErrBackend, "new", "lost")
		_, err = fiber.NewC(fiber.Config{Name: "lost", Backend: b}, cbody.Return, nil)
		requireError(t, err, fiber.ErrBackend, "new", "lost")
		_, err = fiber.Attach(b)
		requireError(t, err, fiber.ErrBackend, "attach", "")
		require.ErrorIs(t, fiber.Prewarm(fiber.Config{Backend: b}, 1), fiber.ErrBackend)
	}
	refused(unknown)
	_, err := fiber.ParseBackend("fibre")
	require.ErrorIs(t, err, fiber.ErrBackend)
	require.ErrorContains(t, err, `"fibre"`)
	require.ErrorContains(t, err, "ucontext")

	t.Setenv(fiber.EnvBackend, "fibre")
	refused(fiber.Default)
	_, err = fiber.Attach(fiber.Default)
	require.ErrorContains(t, err, fiber.EnvBackend)
	require.ErrorContains(t, err, `"fibre"`)
	require.Nil(t, fiber.Current())
}

func TestDefaultBackend(t *testing.T) {
	wanted := map[string]fiber.Backend{"": fiber.Backends()[0], "default": fiber.Backends()[0]}
	for _, b := range fiber.Backends() {
		wanted[b.String()] = b
	}
	for name, want := range wanted {
		t.Run("env="+name, func(t *testing.T) {
			leaks.Check(t)
			t.Setenv(fiber.EnvBackend, name)
			fibertest.OnRoot(t, fiber.Default, func(t *testing.T, root *fiber.Fiber) {
				require.Equal(t, want, root.Backend())
				f := fibertest.New(t, fiber.Default, "f", func() { fibertest.Leave(t, root) })
				require.Equal(t, want, f.Backend())
				fibertest.Enter(t, root, f)
				fibertest.Enter(t, root, f)
				fibertest.Finish(t, f)
			})
		})
	}
}
