package suite

import (
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/sched"
	"fiberlab/tests/internal/leaks"
)

// Numbers of workers that suites run with. Without workers the test's own goroutine is bound, and runs the tasks
// while it waits.
var (
	AnyWorkers     = []int{0, 1, 2, 4, 8, 64}
	SomeWorkers    = []int{1, 2, 4, 8, 64}
	SeveralWorkers = []int{2, 4, 8, 64}
	OneThread      = []int{0, 1}
)

// EachScheduler is Over.Run for the given numbers of workers and a scheduler of each configuration, which it makes and
// closes. If that has no workers it is bound to the test's goroutine.
func EachScheduler(t *testing.T, workers []int, test func(t *testing.T, s *sched.Scheduler)) {
	t.Helper()
	EachConfig(t, workers, func(t *testing.T, cfg sched.Config) { OnScheduler(t, cfg, test) })
}

// EachConfig is Over.Run for the given numbers of workers.
func EachConfig(t *testing.T, workers []int, test func(t *testing.T, cfg sched.Config)) {
	t.Helper()
	Over{Workers: workers}.Run(t, test)
}

// untied is how many workers that give their threads up the schedulers of OnScheduler have.
var untied atomic.Int64

// OnScheduler makes a scheduler, runs test, and closes the scheduler. If it has no workers it is bound to the calling
// goroutine for as long.
func OnScheduler(t *testing.T, cfg sched.Config, test func(t *testing.T, s *sched.Scheduler)) {
	t.Helper()
	if GivesThreadsUp(cfg) {
		leaks.GivesUp(int(untied.Add(int64(cfg.Workers))))
		defer untied.Add(-int64(cfg.Workers))
	}
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

// HandSwitched are the backends that switch stacks themselves. Only they run C bodies.
var HandSwitched = slices.DeleteFunc(fiber.Backends(), func(b fiber.Backend) bool { return b == fiber.Goroutine })

// EachHandSwitched is EachBackend for those.
func EachHandSwitched(t *testing.T, test func(t *testing.T, b fiber.Backend)) {
	t.Helper()
	RunOn(t, HandSwitched, test)
}

// RunOn is EachBackend for the given backends.
func RunOn(t *testing.T, backends []fiber.Backend, test func(t *testing.T, b fiber.Backend)) {
	t.Helper()
	for _, b := range backends {
		t.Run(b.String(), func(t *testing.T) {
			leaks.Check(t)
			test(t, b)
		})
	}
}
