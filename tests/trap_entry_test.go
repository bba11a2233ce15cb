package tests

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
)

// keepBusy makes goroutines compete for every P until stop is called.
func keepBusy(n int, pause func()) (stop func()) {
	var over atomic.Bool
	var all sync.WaitGroup
	for range n {
		all.Add(1)
		go func() {
			defer all.Done()
			for i := 0; !over.Load(); i++ {
				if i%1000 == 0 {
					pause()
				}
			}
		}()
	}
	return func() {
		over.Store(true)
		all.Wait()
	}
}

// A fresh fiber's goroutine has no P to come back to at its first entry. However
// scarce Ps are, each gets one in the end.
func TestFirstEntryUnderLoad(t *testing.T) {
	loads := map[string]struct {
		pause  func()
		fibers int
	}{
		"yielding": {runtime.Gosched, scaled(1000, 50)},
		"spinning": {func() {}, scaled(20, 6)}, // each switch may have to wait for the end of a time slice
	}
	for name, load := range loads {
		for _, procs := range []int{1, 2, 4} {
			t.Run(fmt.Sprintf("%s/%d", name, procs), func(t *testing.T) {
				eachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
					defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
					defer keepBusy(procs, load.pause)()
					onRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
						steps := make([]int, load.fibers)
						fibers := make([]*fiber.Fiber, load.fibers)
						for i := range fibers {
							fibers[i] = newFiber(t, b, "fresh", func() {
								steps[i]++
								leave(t, root)
								steps[i]++
							})
						}
						for step := range 2 {
							for i, f := range fibers {
								enter(t, root, f)
								require.Equal(t, step+1, steps[i])
							}
						}
						finish(t, fibers...)
					})
				})
			})
		}
	}
}

// A fiber that waits for a P must get one even if the fiber that left is the one
// that everybody else waits for.
func TestFirstEntryFromFreshFiber(t *testing.T) {
	for _, procs := range []int{1, 2} {
		t.Run(fmt.Sprint(procs), func(t *testing.T) {
			eachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
				defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
				onRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
					n := scaled(1000, 100)
					fibers := make([]*fiber.Fiber, n)
					order := 0
					for i := range fibers {
						fibers[i] = newFiber(t, b, "fresh", func() {
							require.Equal(t, i, order)
							order++
							if i+1 < n {
								leave(t, fibers[i+1])
							} else {
								leave(t, root)
							}
							order++
						})
					}
					enter(t, root, fibers[0])
					require.Equal(t, n, order)
					for _, f := range fibers {
						enter(t, root, f)
					}
					require.Equal(t, 2*n, order)
					finish(t, fibers...)
				})
			})
		})
	}
}
