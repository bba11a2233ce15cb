package suite

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/sched"
	"fiberlab/tests/internal/leaks"
)

// The numbers of workers that the scheduler's tests run with. Without workers the
// test's own goroutine is bound and runs the tasks while it waits.
var (
	AnyWorkers     = []int{0, 1, 2, 4, 8, 64}
	SomeWorkers    = []int{1, 2, 4, 8, 64}
	SeveralWorkers = []int{2, 4, 8, 64}
	OneThread      = []int{0, 1}
)

// EachScheduler runs test for every backend and each of the numbers of workers, with
// a scheduler of its own, and checks that nothing is left of it. If it has no workers
// it is bound to the test's goroutine.
func EachScheduler(t *testing.T, workers []int, test func(t *testing.T, s *sched.Scheduler)) {
	t.Helper()
	EachConfig(t, workers, func(t *testing.T, cfg sched.Config) { OnScheduler(t, cfg, test) })
}

// EachConfig is EachScheduler for tests that make their schedulers themselves.
func EachConfig(t *testing.T, workers []int, test func(t *testing.T, cfg sched.Config)) {
	t.Helper()
	EachBackend(t, func(t *testing.T, b fiber.Backend) {
		for _, n := range workers {
			t.Run(fmt.Sprintf("workers=%d", n), func(t *testing.T) {
				before := fiber.ReadStats()
				test(t, sched.Config{Workers: n, Backend: b})
				after := fiber.ReadStats()
				assert.Equal(t, before.Fibers, after.Fibers, "fibers that were not closed")
				assert.Equal(t, before.Roots, after.Roots, "roots that were not detached")
				assert.Nil(t, sched.Get(), "a scheduler that was not unbound")
			})
		}
	})
}

// OnScheduler makes a scheduler, runs test, and ends the scheduler.
func OnScheduler(t *testing.T, cfg sched.Config, test func(t *testing.T, s *sched.Scheduler)) {
	t.Helper()
	s, err := sched.New(cfg)
	require.NoError(t, err)
	defer func() { assert.NoError(t, s.Close()) }()
	if cfg.Workers == 0 {
		require.NoError(t, s.Bind())
		defer func() { assert.NoError(t, sched.Unbind()) }()
	}
	test(t, s)
}

// EachBackend runs test for every backend and checks that it leaves nothing behind.
func EachBackend(t *testing.T, test func(t *testing.T, b fiber.Backend)) {
	t.Helper()
	RunOn(t, fiber.Backends(), test)
}

// EachHandSwitched is EachBackend for tests of C bodies and of what only
// hand-switched fibers have.
func EachHandSwitched(t *testing.T, test func(t *testing.T, b fiber.Backend)) {
	t.Helper()
	RunOn(t, []fiber.Backend{fiber.Asm, fiber.Ucontext}, test)
}

// RunOn is EachBackend for some of the backends.
func RunOn(t *testing.T, backends []fiber.Backend, test func(t *testing.T, b fiber.Backend)) {
	t.Helper()
	for _, b := range backends {
		t.Run(b.String(), func(t *testing.T) {
			leaks.Check(t)
			test(t, b)
		})
	}
}
