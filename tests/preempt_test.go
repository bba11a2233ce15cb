package tests

import (
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
)

// The runtime interrupts a loop without calls by a signal to the thread that it
// knows the fiber by: here, the one that it began and is. Each collection stops
// the world, so that without the signal this would not end.
func TestPreemptionOfFibers(t *testing.T) {
	eachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
		onRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
			const n = 4
			var collections atomic.Int64
			var over atomic.Bool
			done := make(chan struct{})
			go func() {
				defer close(done)
				for !over.Load() {
					runtime.GC()
					collections.Add(1)
				}
			}()
			fibers := make([]*fiber.Fiber, n)
			sums := make([]uint64, n)
			rounds := scaled(4, 2)
			for i := range fibers {
				fibers[i] = newFiber(t, b, "tight", func() {
					for range rounds {
						until := collections.Load() + 3
						sum := uint64(i)
						for collections.Load() < until {
							sum = sum*6364136223846793005 + 1
						}
						sums[i] += sum | 1
						leave(t, root)
					}
				})
			}
			for range rounds + 1 {
				for _, f := range fibers {
					enter(t, root, f)
				}
			}
			over.Store(true)
			<-done
			for i := range sums {
				require.NotZero(t, sums[i])
			}
			finish(t, fibers...)
		})
	})
}

// A loop without calls on a fiber that has come to another thread than the one it
// began on is interrupted all the same: it waits for collections, each of which
// must stop it first. Without that the test would not end.
func TestPreemptionAfterAMove(t *testing.T) {
	eachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
		var collections atomic.Int64
		var over atomic.Bool
		done := make(chan struct{})
		var mover *fiber.Fiber
		var here *fiber.Fiber // the root to go back to
		rounds := 0
		mover = newFiber(t, b, "mover", func() {
			for range scaled(8, 5) {
				leave(t, here)
				rounds++
				for until := collections.Load() + 3; collections.Load() < until; {
				}
			}
		})
		onRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
			here = root
			enter(t, root, mover)
		})
		go func() {
			defer close(done)
			for !over.Load() {
				runtime.GC()
				collections.Add(1)
			}
		}()
		// The test's goroutine keeps its thread, so each of these has another one.
		onRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
			for mover.State() == fiber.Suspended {
				another(t, b, func(elsewhere *fiber.Fiber) {
					here = elsewhere
					if err := elsewhere.SwitchTo(mover); err != nil {
						t.Error(err)
					}
				})
			}
		})
		over.Store(true)
		<-done
		require.Equal(t, scaled(8, 5), rounds)
		finish(t, mover)
	})
}
