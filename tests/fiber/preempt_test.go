package fiber_test

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/tests/internal/cbody"
	"fiberlab/tests/internal/child"
	"fiberlab/tests/internal/fibertest"
	"fiberlab/tests/internal/suite"
	"fiberlab/tests/internal/trapbody"
)

// countCollections runs the garbage collector again and again, and adds each run to collections, until stop is called
// or the test ends. Each stops the world.
func countCollections(t *testing.T, collections *atomic.Int64) (stop func()) {
	var over atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		for !over.Load() {
			runtime.GC()
			collections.Add(1)
		}
	}()
	stop = func() {
		over.Store(true)
		<-done
	}
	t.Cleanup(stop)
	return stop
}

// The runtime interrupts a loop without calls by a signal to the thread that it
// knows the fiber by: here, the thread that it began as and is. Each collection stops
// the world, so that without the signal this would not end.
func TestPreemptionOfFibers(t *testing.T) {
	suite.EachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
		fibertest.OnRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
			const n = 4
			var collections atomic.Int64
			stop := countCollections(t, &collections)
			fibers := make([]*fiber.Fiber, n)
			sums := make([]uint64, n)
			rounds := suite.Scaled(4, 2)
			for i := range fibers {
				fibers[i] = fibertest.New(t, b, "tight", func() {
					for range rounds {
						until := collections.Load() + 3
						sum := uint64(i)
						for collections.Load() < until {
							sum = sum*6364136223846793005 + 1
						}
						sums[i] += sum | 1
						fibertest.Leave(t, root)
					}
				})
			}
			for range rounds + 1 {
				for _, f := range fibers {
					fibertest.Enter(t, root, f)
				}
			}
			stop()
			for i := range sums {
				require.NotZero(t, sums[i])
			}
			fibertest.Finish(t, fibers...)
		})
	})
}

// A loop without calls is interrupted also on a fiber that has moved to another thread than its first. It waits for
// collections, each of which must stop it first. Without that the test would not end.
func TestPreemptionAfterAMove(t *testing.T) {
	suite.EachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
		var collections atomic.Int64
		var mover *fiber.Fiber
		var here *fiber.Fiber // the root to go back to
		rounds := 0
		mover = fibertest.New(t, b, "mover", func() {
			for range suite.Scaled(8, 5) {
				fibertest.Leave(t, here)
				rounds++
				for until := collections.Load() + 3; collections.Load() < until; {
				}
			}
		})
		fibertest.OnRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
			here = root
			fibertest.Enter(t, root, mover)
		})
		stop := countCollections(t, &collections)
		// The test's goroutine keeps its thread, so each of these has another one.
		fibertest.OnRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
			for mover.State() == fiber.Suspended {
				fibertest.OnAnotherRoot(t, b, func(elsewhere *fiber.Fiber) {
					here = elsewhere
					if err := elsewhere.SwitchTo(mover); err != nil {
						t.Error(err)
					}
				})
			}
		})
		stop()
		require.Equal(t, suite.Scaled(8, 5), rounds)
		fibertest.Finish(t, mover)
	})
}

// interruptions returns how many callbacks in turn wait to be interrupted. Marks that outlive the
// lending of their M have been seen after 4 to 500. A slow program has fewer: there each thread
// of C waits for its P for a tenth of a second.
func interruptions() int {
	if suite.Slow() && testing.Short() {
		return 90
	}
	return suite.Scaled(500, 210)
}

// waitForStops runs do, which calls its argument again and again. That waits in a loop without calls
// until the world has been stopped once more, for which the loop must be interrupted: if it is not, the
// child hangs. Each M that C is lent in that time is marked.
func waitForStops(t child.T, do func(loop func())) {
	require.NoError(t, fiber.Supported())
	trapbody.MarkLent()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	var stops atomic.Int64
	var over atomic.Bool
	// Since Go 1.26 the P of a thread that ends while the world is being stopped can be overlooked. The runtime's monitor
	// takes that P, but sleeps for up to a minute if no timer is due.
	go func() {
		for !over.Load() {
			time.Sleep(10 * time.Millisecond)
		}
	}()
	done := make(chan struct{})
	go func() {
		defer close(done)
		var stats runtime.MemStats
		for !over.Load() {
			runtime.ReadMemStats(&stats)
			stops.Add(1)
		}
	}()
	do(func() {
		for until := stops.Load() + 1; stops.Load() < until; {
		}
	})
	over.Store(true)
	<-done
	require.NotZero(t, trapbody.Marked())
}

var (
	childInterruptsBodies = child.New("interrupts C bodies", func(t child.T, b fiber.Backend) {
		root, err := fiber.Attach(b)
		require.NoError(t, err)
		waitForStops(t, func(loop func()) {
			for range interruptions() / 3 {
				order := cbody.NewOrder(cbody.Task{Turns: 3, Callback: loop})
				f, err := fiber.NewC(fiber.Config{Backend: b}, cbody.Call, order.Pointer())
				require.NoError(t, err)
				require.NoError(t, root.SwitchTo(f))
				require.NoError(t, f.Close())
				order.Free()
			}
		})
	})
	childInterruptsThreads = child.New("interrupts threads of C", func(t child.T, b fiber.Backend) {
		waitForStops(t, func(loop func()) {
			for range interruptions() {
				require.NoError(t, trapbody.CallOnThread(loop))
			}
		})
	})
	childInterruptsMoved = child.New("interrupts C bodies after a move", func(t child.T, b fiber.Backend) {
		waitForStops(t, func(loop func()) {
			for range interruptions() / 30 {
				var here *fiber.Fiber
				order := cbody.NewOrder(cbody.Task{Turns: 3, Callback: func() {
					loop()
					require.NoError(t, fiber.Current().SwitchTo(here))
					loop()
				}})
				f, err := fiber.NewC(fiber.Config{Backend: b}, cbody.Call, order.Pointer())
				require.NoError(t, err)
				for f.State() != fiber.Finished {
					require.NoError(t, onLockedGoroutine(func() {
						here, err = fiber.Attach(b)
						require.NoError(t, err)
						require.NoError(t, here.SwitchTo(f))
						require.NoError(t, here.Detach())
					}))
				}
				require.NoError(t, f.Close())
				order.Free()
			}
		})
	})
)

// A loop without calls in a Go function that C calls can be interrupted, whichever M is lent to it. The function is
// called on a C body's fiber, on a fiber that has moved, and on a plain thread of C.
func TestPreemptionOfCallbacks(t *testing.T) {
	for _, name := range []string{childInterruptsBodies, childInterruptsThreads, childInterruptsMoved} {
		for _, b := range suite.HandSwitched {
			if name == childInterruptsThreads && b != fiber.Asm {
				continue
			}
			t.Run(name+"/"+b.String(), func(t *testing.T) { child.RunOK(t, name, b) })
		}
	}
}
