package tests

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/tests/trapbody"
)

// collect runs the collector again and again until stop is called, which tells
// how often it ran.
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

// Many Go fibers at once, suspended with things on their stacks that the
// collector must find there, and ended in another order.
func TestHoldManyGoFibers(t *testing.T) {
	noLeaks(t)
	random := newRand(t)
	n := scaled(30_000, 1000)
	onRoot(t, fiber.Asm, func(t *testing.T, root *fiber.Fiber) {
		before := fiber.ReadStats()
		stop := collect()
		fibers := make([]*fiber.Fiber, n)
		sum := 0
		for i := range fibers {
			fibers[i] = newFiber(t, fiber.Asm, "held", func() {
				kept := &record{field: i}
				if err := fiber.Current().SwitchTo(root); err != nil {
					panic(err)
				}
				sum += kept.field
			})
			enter(t, root, fibers[i])
		}
		require.Equal(t, before.Fibers+n, fiber.ReadStats().Fibers)
		require.GreaterOrEqual(t, fiber.ReadStats().Identities-before.Identities, n-before.Idle)
		require.Zero(t, sum)
		for _, i := range random.Perm(n) {
			enter(t, root, fibers[i])
		}
		require.Positive(t, stop())
		require.Equal(t, n*(n-1)/2, sum)
		for _, i := range random.Perm(n) {
			finish(t, fibers[i])
		}
	})
}

func TestHoldManyCFibers(t *testing.T) {
	eachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
		random := newRand(t)
		n := scaled(50_000, 5000)
		onRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
			stop := collect()
			fibers := make([]*fiber.Fiber, n)
			laps := make([]*trapbody.Laps, n)
			for i := range fibers {
				laps[i] = trapbody.NewLaps(root.Handle(), 2)
				fibers[i] = newCFiber(t, b, "held", trapbody.LapBody(), laps[i].Argument())
				enter(t, root, fibers[i])
			}
			for range 2 {
				for _, i := range random.Perm(n) {
					enter(t, root, fibers[i])
				}
			}
			require.Positive(t, stop())
			for i, f := range fibers {
				require.Equal(t, 2, laps[i].Done())
				require.Zero(t, laps[i].Broken())
				laps[i].Free()
				finish(t, f)
			}
		})
	})
}
