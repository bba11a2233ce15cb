package fiber_test

import (
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/tests/internal/fibertest"
	"fiberlab/tests/internal/suite"
	"fiberlab/tests/internal/trapbody"
)

// attachElsewhere attaches and detaches a new goroutine.
func attachElsewhere(b fiber.Backend) error {
	done := make(chan error)
	go func() {
		root, err := fiber.Attach(b)
		if err == nil {
			err = root.Detach()
		}
		done <- err
	}()
	return <-done
}

// Identities that cannot be dropped, because there is no memory for a root to drop them, stay in the pool.
func TestNoMemoryForDraining(t *testing.T) {
	if !slices.Contains(suite.HandSwitched, fiber.Asm) {
		t.Skip("it counts what fibers by assembly need: there is none for " + runtime.GOARCH)
	}
	suite.EachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
		const idle = 3
		require.NoError(t, fiber.Drain())
		drained := fiber.ReadStats()
		require.NoError(t, fiber.Prewarm(fiber.Config{Backend: b}, idle))
		warm := change(drained)

		defer trapbody.Ration(-1)
		trapbody.Ration(0)
		requireKept := func() {
			require.ErrorIs(t, fiber.Drain(), fiber.ErrNoMemory)
			require.Equal(t, warm.Idle, change(drained).Idle, "runners that stay in the pool")
		}
		if b == fiber.Ucontext { // there is a control block for a root, but no context by which it could leave
			requireKept()
		}
		var held []*fiber.Fiber
		for { // uses up the control blocks there are
			f, err := fiber.New(fiber.Config{Backend: fiber.Asm, StackSize: 2 * fiber.MinGoStack}, func() {})
			if err != nil {
				require.ErrorIs(t, err, fiber.ErrNoMemory)
				break
			}
			held = append(held, f)
		}
		requireKept()
		trapbody.Ration(-1)
		require.NoError(t, fiber.CloseAll(held...))
		require.NoError(t, fiber.Drain())
		require.Equal(t, fiber.Stats{}, change(drained))
	})
}

// C may lack memory for control blocks and contexts at each use: for a fiber, or for a root. A root needs a context
// when it leaves by ucontext for the first time.
func TestNoMemoryForContext(t *testing.T) {
	if !slices.Contains(suite.HandSwitched, fiber.Asm) {
		t.Skip("it counts what fibers by assembly need: there is none for " + runtime.GOARCH)
	}
	suite.EachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
		fibertest.OnRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
			defer trapbody.Ration(-1)
			var held []*fiber.Fiber
			create := func(b fiber.Backend) (*fiber.Fiber, error) {
				return fiber.New(fiber.Config{Name: "refused", Backend: b}, func() {})
			}
			// Each time the calls get one step further.
			for ration := range 4 {
				require.NoError(t, fiber.Drain())
				refusals := trapbody.Refusals()
				trapbody.Ration(0)
				f, err := create(fiber.Asm)
				for ; err == nil; f, err = create(fiber.Asm) { // uses up the control blocks there are
					held = append(held, f)
				}
				require.Nil(t, f)
				require.ErrorIs(t, err, fiber.ErrNoMemory)
				require.ErrorContains(t, err, "refused")
				require.Greater(t, trapbody.Refusals(), refusals)
				require.ErrorIs(t, attachElsewhere(b), fiber.ErrNoMemory)
				stats := fiber.ReadStats()

				trapbody.Ration(ration)
				if f, err = create(b); err != nil {
					require.ErrorIs(t, err, fiber.ErrNoMemory)
					require.Equal(t, stats, fiber.ReadStats())
				} else {
					for err = root.SwitchTo(f); err != nil; err = root.SwitchTo(f) {
						require.ErrorIs(t, err, fiber.ErrNoMemory)
						require.Equal(t, fiber.Ready, f.State())
						require.Equal(t, fiber.Running, root.State())
						trapbody.Ration(1)
					}
					fibertest.Finish(t, f)
				}
				trapbody.Ration(-1)
				require.NoError(t, attachElsewhere(b))
			}
			for _, f := range held {
				fibertest.Enter(t, root, f)
				fibertest.Finish(t, f)
			}
		})
	})
}
