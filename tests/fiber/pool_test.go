package fiber_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/tests/internal/fibertest"
	"fiberlab/tests/internal/leaks"
	"fiberlab/tests/internal/suite"
)

// enteredFibers makes n fibers and lets them run to the end.
func enteredFibers(t *testing.T, root *fiber.Fiber, n int) []*fiber.Fiber {
	t.Helper()
	fibers := make([]*fiber.Fiber, n)
	for i := range fibers {
		fibers[i] = fibertest.New(t, root.Backend(), "f", func() {})
	}
	for _, f := range fibers {
		fibertest.Enter(t, root, f)
	}
	return fibers
}

// change is what happened to the counts since before.
func change(before fiber.Stats) fiber.Stats {
	now := fiber.ReadStats()
	return fiber.Stats{
		Fibers:     now.Fibers - before.Fibers,
		Roots:      now.Roots - before.Roots,
		Idle:       now.Idle - before.Idle,
		Identities: now.Identities - before.Identities,
		Stranded:   now.Stranded - before.Stranded,
		Stacks:     now.Stacks - before.Stacks,
	}
}

func TestStats(t *testing.T) {
	suite.EachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
		require.NoError(t, fiber.Drain())
		require.NoError(t, fiber.Prewarm(fiber.Config{Backend: b}, 100)) // so that none is stranded below
		fibertest.KeepPool(t)
		before := fiber.ReadStats()
		fibertest.OnRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
			require.Equal(t, fiber.Stats{Roots: 1}, change(before))
			fibers := enteredFibers(t, root, 60)
			require.Equal(t, fiber.Stats{Roots: 1, Fibers: 60, Idle: -60}, change(before))
			more := make([]*fiber.Fiber, 50)
			for i := range more {
				more[i] = fibertest.New(t, b, "f", func() { fibertest.Leave(t, root) })
			}
			require.Equal(t, fiber.Stats{Roots: 1, Fibers: 110, Idle: -100, Stacks: 10}, change(before))
			for range 2 {
				for _, f := range more {
					fibertest.Enter(t, root, f)
				}
				require.Equal(
					t, fiber.Stats{Roots: 1, Fibers: 110, Idle: -100, Identities: 10, Stacks: 10}, change(before),
				)
			}
			fibertest.Finish(t, more...)
			require.Equal(t, fiber.Stats{Roots: 1, Fibers: 60, Idle: -50, Identities: 10, Stacks: 10}, change(before))
			fibertest.Finish(t, fibers...)
			require.Equal(t, fiber.Stats{Roots: 1, Idle: 10, Identities: 10, Stacks: 10}, change(before))
		})
		require.Equal(t, fiber.Stats{Idle: 10, Identities: 10, Stacks: 10}, change(before))
	})
}

func TestPrewarmAndDrain(t *testing.T) {
	suite.EachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
		require.NoError(t, fiber.Drain())
		drained := fiber.ReadStats()
		cfg := fiber.Config{Backend: b}
		require.NoError(t, fiber.Prewarm(cfg, 0))
		require.Equal(t, fiber.Stats{}, change(drained))

		require.NoError(t, fiber.Prewarm(cfg, 50))
		warm := fiber.ReadStats()
		require.NoError(t, fiber.Prewarm(cfg, 80))
		more := fiber.Stats{Idle: 30, Identities: 30, Stacks: 30}
		require.Equal(t, more, change(warm))
		require.NoError(t, fiber.Prewarm(cfg, 80))
		require.NoError(t, fiber.Prewarm(cfg, 10))
		require.Equal(t, more, change(warm), "there are enough")

		require.NoError(t, fiber.Drain())
		require.Equal(t, fiber.Stats{}, change(drained))
		require.NoError(t, fiber.Drain())
		require.Equal(t, fiber.Stats{}, change(drained))
	})
}

func TestPrewarmErrors(t *testing.T) {
	leaks.Check(t)
	require.ErrorContains(t, fiber.Prewarm(fiber.Config{Backend: suite.HandSwitched[0]}, -1), "-1")
	require.ErrorIs(t, fiber.Prewarm(fiber.Config{Backend: suite.HandSwitched[0], StackSize: 4096}, 1), fiber.ErrStackSize)
	require.Error(t, fiber.Prewarm(fiber.Config{Backend: suite.HandSwitched[0], StackSize: -4096}, 1))
}

// A coroutine counts from its first entry until it is drained; a coroutine that a locked root
// has entered is of no use to others and ends with its body.
func TestStatsOfCoroutines(t *testing.T) {
	leaks.Check(t)
	b := fiber.Goroutine
	require.NoError(t, fiber.Drain())
	before := fiber.ReadStats()
	run := func(t *testing.T, root *fiber.Fiber, after fiber.Stats) {
		fibers := make([]*fiber.Fiber, 10)
		for i := range fibers {
			fibers[i] = fibertest.New(t, b, "f", func() { fibertest.Leave(t, root) })
		}
		require.Equal(t, fiber.Stats{Roots: 1, Fibers: 10}, change(before))
		for _, f := range fibers {
			fibertest.Enter(t, root, f)
		}
		require.Equal(t, fiber.Stats{Roots: 1, Fibers: 10, Identities: 10}, change(before))
		for _, f := range fibers {
			fibertest.Enter(t, root, f)
		}
		require.Equal(t, fiber.Stats{Roots: 1, Fibers: 10, Identities: after.Identities}, change(before))
		fibertest.Finish(t, fibers...)
		require.Equal(t, after, change(before))
	}
	fibertest.OnRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
		run(t, root, fiber.Stats{Roots: 1, Identities: 10, Idle: 10})
	})
	require.NoError(t, fiber.Drain())
	require.Equal(t, fiber.Stats{}, change(before))

	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	fibertest.OnRoot(t, b, func(t *testing.T, root *fiber.Fiber) { run(t, root, fiber.Stats{Roots: 1}) })

	require.NoError(t, fiber.Prewarm(fiber.Config{Backend: b}, 10))
	require.Equal(t, fiber.Stats{Identities: 10, Idle: 10}, change(before))
	require.NoError(t, fiber.Drain())
	require.Equal(t, fiber.Stats{}, change(before))
}

// The pool keeps up to DefaultMaxIdle runners, or as many as Prewarm was asked for.
func TestPoolIsBounded(t *testing.T) {
	if testing.Short() || suite.RaceDetector {
		t.Skip("thousands of identities")
	}
	suite.EachBackend(t, func(t *testing.T, b fiber.Backend) {
		fibertest.OnRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
			const over = 50
			require.NoError(t, fiber.Drain())
			stranded := fiber.ReadStats().Idle // some of them of this kind, so within its bound
			idleAt := func(bound int, why string) {
				idle := fiber.ReadStats().Idle
				require.GreaterOrEqual(t, idle, bound, why)
				require.LessOrEqual(t, idle, bound+stranded, why)
			}
			fibertest.Finish(t, enteredFibers(t, root, fiber.DefaultMaxIdle+over)...)
			idleAt(fiber.DefaultMaxIdle, "the default")

			const raised = fiber.DefaultMaxIdle + 200
			require.NoError(t, fiber.Prewarm(fiber.Config{Backend: b}, raised))
			idleAt(raised, "what Prewarm was asked for")
			fibertest.Finish(t, enteredFibers(t, root, raised+over)...)
			idleAt(raised, "the raised bound holds")

			require.NoError(t, fiber.Drain())
			fibertest.Finish(t, enteredFibers(t, root, fiber.DefaultMaxIdle+over)...)
			idleAt(fiber.DefaultMaxIdle, "Drain sets the bound back")
		})
	})
}

// The idle runners of one kind take no room from another kind. Fibers of another size, backend or body come from the
// pool although it is full of small ones.
func TestPoolHasRoomForEachKind(t *testing.T) {
	suite.EachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
		require.NoError(t, fiber.Drain())
		require.NoError(t, fiber.Prewarm(fiber.Config{Backend: b, StackSize: fiber.MinGoStack}, fiber.DefaultMaxIdle))
		full := fiber.ReadStats()
		fibertest.OnRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
			large := fiber.Config{Backend: b, StackSize: 4 * fiber.MinGoStack}
			for range 3 {
				f, err := fiber.New(large, func() {})
				require.NoError(t, err)
				fibertest.Enter(t, root, f)
				fibertest.Finish(t, f)
				require.Equal(
					t, fiber.Stats{Roots: 1, Idle: 1, Identities: 1, Stacks: 1}, change(full), "the larger one is kept",
				)
			}
		})
	})
}

// Round after round of fibers, roots and draining leaves the process as it was.
func TestNothingGrows(t *testing.T) {
	suite.EachBackend(t, func(t *testing.T, b fiber.Backend) {
		round := func() leaks.Holdings {
			done := make(chan struct{})
			for range 4 {
				go func() {
					defer func() { done <- struct{}{} }()
					fibertest.OnAnotherRoot(t, b, func(root *fiber.Fiber) {
						for range 25 {
							f, err := fiber.New(fiber.Config{Backend: b}, func() { fibertest.Leave(t, root) })
							if err == nil {
								err = root.SwitchTo(f)
							}
							if err == nil {
								err = root.SwitchTo(f)
							}
							if err == nil {
								err = f.Close()
							}
							if err != nil {
								t.Error(err)
							}
						}
					})
				}()
			}
			for range 4 {
				<-done
			}
			return leaks.Settle(t)
		}
		rounds := func(n int) (most leaks.Holdings) {
			for range n {
				now := round()
				most.Threads, most.Mappings = max(most.Threads, now.Threads), max(most.Mappings, now.Mappings)
			}
			return most
		}
		// The runtime keeps the threads that it has started, and uses them again. On a slow machine it may start some
		// more late, but a process has a bounded number at once. A loss in each round shows after any number of rounds.
		var grown [][2]int
		early := rounds(10)
		for range 5 {
			late := rounds(suite.Scaled(20, 10))
			threads, mappings := late.Threads-early.Threads, late.Mappings-early.Mappings
			if threads <= 4 && mappings <= 20 {
				return
			}
			grown = append(grown, [2]int{threads, mappings})
			early = late
		}
		require.Empty(t, grown, "threads and mappings that each batch of rounds has left")
	})
}

// Soon after the last root is detached the pool gives back all but what Prewarm has asked for. While there is a
// root it keeps what it has. The pool serves all backends, so they are all in it here.
func TestPoolDrainsItself(t *testing.T) {
	leaks.Check(t)
	const prewarmed, used = 5, 20
	require.NoError(t, fiber.Drain())
	drained := fiber.ReadStats()
	for _, b := range fiber.Backends() {
		require.NoError(t, fiber.Prewarm(fiber.Config{Backend: b}, prewarmed))
	}
	warm := change(drained)
	// withRoots uses fibers of these backends while there is a root of each.
	var withRoots func(backends []fiber.Backend)
	withRoots = func(backends []fiber.Backend) {
		if len(backends) > 0 {
			fibertest.OnAnotherRoot(t, backends[0], func(root *fiber.Fiber) {
				fibertest.Finish(t, enteredFibers(t, root, used)...)
				withRoots(backends[1:])
			})
			return
		}
		fibertest.OnAnotherRoot(t, suite.HandSwitched[0], func(*fiber.Fiber) {}) // which is not the last to be detached
		before := fiber.ReadStats()
		assert.GreaterOrEqual(t, before.Idle, used*len(fiber.Backends()))
		time.Sleep(time.Second)
		assert.Equal(t, before, fiber.ReadStats(), "while there is a root")
	}
	withRoots(fiber.Backends())
	require.Eventually(t, func() bool { return change(drained) == warm }, time.Minute, 10*time.Millisecond)
	require.NoError(t, fiber.Drain())
	require.Equal(t, fiber.Stats{}, change(drained))
}
