package sched_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/sched"
	"fiberlab/stack"
	"fiberlab/tests/internal/child"
	"fiberlab/tests/internal/exhaust"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

// A worker that has no memory for one more fiber says so and waits. Blocked tasks still continue when they are
// notified. Then queued tasks run, and the memory that they leave can be used again.
var childNoFiberLeft = child.New("no fiber left", func(t child.T, b fiber.Backend) {
	const room, size, tasks = 512 << 20, 8 << 20, 200
	root := child.Root(t, b)
	require.NoError(t, root.Detach())
	var told sync.Once
	exhausted := make(chan error, 1)
	cfg := child.Config(t, b)
	cfg.StackSize, cfg.Name = size, "hungry"
	cfg.Exhausted = func(err error) { told.Do(func() { exhausted <- err }) }
	s, err := sched.New(cfg)
	require.NoError(t, err)
	exhaust.SpareThreads()
	lift := exhaust.LimitAddresses(t, room)

	var mu sync.Mutex
	var open bool
	var blocked []*sched.Fiber
	ran := make(map[int]bool, tasks) // the fibers that have begun tasks, by their IDs
	over := schedtest.NewLatch(tasks)
	for range tasks {
		require.NoError(t, s.Enqueue(sched.Task{Func: func() {
			defer over.Done()
			mu.Lock()
			defer mu.Unlock()
			blocked = append(blocked, sched.Current())
			ran[sched.Current().ID()] = true
			sched.Current().Wait(&mu, func() bool { return open })
		}}))
	}
	err = <-exhausted
	require.ErrorIs(t, err, stack.ErrExhausted)
	require.ErrorContains(t, err, "hungry worker 0")
	require.ErrorContains(t, err, "RLIMIT_AS")
	mu.Lock()
	held := len(blocked)
	require.Greater(t, held, room/size/3)
	require.Less(t, held, tasks)
	open = true
	for _, f := range blocked {
		f.Notify()
	}
	mu.Unlock()
	over.Wait()
	lift()
	stats := s.Stats()
	require.NoError(t, s.Close())
	require.EqualValues(t, tasks, stats.Tasks)
	delete(ran, 0) // the main fiber
	require.Contains(t, []uint64{0, 1}, stats.Made-uint64(len(ran)),
		"attempts that failed made none, and one fiber may only have carried the worker on")
	root, err = fiber.Attach(b)
	require.NoError(t, err)
	exhaust.RequireRecovered(t, root)
})

func TestExhaustedWorkerLosesNothing(t *testing.T) {
	over := suite.Over{Backends: suite.HandSwitched, Workers: []int{1}}
	over.Run(t, func(t *testing.T, cfg sched.Config) {
		// glibc would take 64 MB of the addresses for each thread that allocates.
		child.RunOK(t, childNoFiberLeft, cfg.Backend, child.Env(cfg), "MALLOC_ARENA_MAX=1")
	})
}
