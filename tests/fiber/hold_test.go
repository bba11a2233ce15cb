package fiber_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/stack/stacktest"
	"fiberlab/tests/internal/child"
	"fiberlab/tests/internal/exhaust"
	"fiberlab/tests/internal/fibertest"
	"fiberlab/tests/internal/suite"
	"fiberlab/tests/internal/trapbody"
)

// collect runs the collector again and again until stop is called, which returns how often it ran.
func collect() (stop func() int) {
	var over atomic.Bool
	var all sync.WaitGroup
	n := 0
	all.Add(1)
	go func() {
		defer all.Done()
		for ok := true; ok; ok = !over.Load() {
			runtime.GC()
			n++
			time.Sleep(20 * time.Millisecond) // others want the processors too
		}
	}()
	return func() int {
		over.Store(true)
		all.Wait()
		return n
	}
}

// envCount and envSeedOfChild tell childHold how many fibers to hold, and in which
// order to end them.
const (
	envCount       = "FIBERLAB_CRASH_COUNT"
	envSeedOfChild = "FIBERLAB_CRASH_SEED"
)

// The runtime keeps each M that it ever lent, and the collector looks at each: so
// many are not for the process of the other tests.
var childHold = child.New("hold Go fibers", func(t child.T, b fiber.Backend) {
	n, err := strconv.Atoi(os.Getenv(envCount))
	require.NoError(t, err)
	seed, err := strconv.ParseUint(os.Getenv(envSeedOfChild), 10, 64)
	require.NoError(t, err)
	random := rand.New(rand.NewPCG(seed, 0))

	root := child.Root(t, b)
	stop := collect()
	fibers := make([]*fiber.Fiber, n)
	sum := 0
	for i := range fibers {
		fibers[i], err = fiber.New(fiber.Config{Name: "held", Backend: b}, func() {
			kept := &record{field: i}
			require.NoError(t, fiber.Current().SwitchTo(root))
			sum += kept.field
		})
		require.NoError(t, err)
		require.NoError(t, root.SwitchTo(fibers[i]))
	}
	require.Zero(t, sum)
	require.Equal(t, fiber.Stats{Fibers: n, Roots: 1, Identities: n, Stacks: n}, fiber.ReadStats())
	for _, i := range random.Perm(n) {
		require.NoError(t, root.SwitchTo(fibers[i]))
	}
	require.Positive(t, stop())
	require.Equal(t, n*(n-1)/2, sum)
	for _, i := range random.Perm(n) {
		require.NoError(t, fibers[i].Close())
	}
	exhaust.RequireRecovered(t, root)
})

// Many Go fibers at once, suspended with things on their stacks that the
// collector must find there, and ended in another order.
func TestHoldManyGoFibers(t *testing.T) {
	seed := suite.NewRand(t).Uint64()
	child.RunOK(
		t, childHold, suite.HandSwitched[0],
		fmt.Sprintf(
			"%s=%d", envCount, stacktest.Held(t, suite.Scaled(10_000, 1000)),
		),
		fmt.Sprintf("%s=%d", envSeedOfChild, seed),
	)
}

func TestHoldManyCFibers(t *testing.T) {
	suite.EachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
		random := suite.NewRand(t)
		n := stacktest.Held(t, suite.Scaled(20_000, 5000))
		fibertest.OnRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
			stop := collect()
			defer stop()
			before := fiber.ReadStats()
			fibers := make([]*fiber.Fiber, n)
			defer fibertest.EndAfterFailure(t, root, fibers)
			laps := make([]*trapbody.Laps, n)
			for i := range fibers {
				laps[i] = trapbody.NewLaps(root.Handle(), 2)
				fibers[i] = fibertest.NewC(t, b, "held", trapbody.LapBody(), laps[i].Argument())
				fibertest.Enter(t, root, fibers[i])
			}
			require.Equal(t, fiber.Stats{Fibers: n, Stacks: n}, change(before))
			for range 2 {
				for _, i := range random.Perm(n) {
					fibertest.Enter(t, root, fibers[i])
				}
			}
			require.Equal(t, fiber.Stats{Fibers: n, Stacks: n}, change(before), "a C body takes no identity")
			require.Positive(t, stop())
			for i, f := range fibers {
				require.Equal(t, 2, laps[i].Done())
				require.Zero(t, laps[i].Broken())
				laps[i].Free()
				fibertest.Finish(t, f)
			}
		})
	})
}
