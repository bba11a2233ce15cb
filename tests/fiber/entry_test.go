package fiber_test

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/tests/internal/fibertest"
	"fiberlab/tests/internal/suite"
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
		"yielding": {runtime.Gosched, suite.Scaled(1000, 50)},
		"spinning": {func() {}, suite.Scaled(20, 6)}, // each switch may have to wait for the end of a time slice
	}
	for name, load := range loads {
		for _, procs := range []int{1, 2, 4} {
			t.Run(fmt.Sprintf("%s/%d", name, procs), func(t *testing.T) {
				suite.EachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
					defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
					defer keepBusy(procs, load.pause)()
					fibertest.OnRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
						steps := make([]int, load.fibers)
						fibers := make([]*fiber.Fiber, load.fibers)
						for i := range fibers {
							fibers[i] = fibertest.New(t, b, "fresh", func() {
								steps[i]++
								fibertest.Leave(t, root)
								steps[i]++
							})
						}
						for step := range 2 {
							for i, f := range fibers {
								fibertest.Enter(t, root, f)
								require.Equal(t, step+1, steps[i])
							}
						}
						fibertest.Finish(t, fibers...)
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
			suite.EachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
				defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
				fibertest.OnRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
					n := suite.Scaled(1000, 100)
					fibers := make([]*fiber.Fiber, n)
					order := 0
					for i := range fibers {
						fibers[i] = fibertest.New(t, b, "fresh", func() {
							assert.Equal(t, i, order)
							order++
							if i+1 < n {
								fibertest.Leave(t, fibers[i+1])
							} else {
								fibertest.Leave(t, root)
							}
							order++
						})
					}
					fibertest.Enter(t, root, fibers[0])
					require.Equal(t, n, order)
					for _, f := range fibers {
						fibertest.Enter(t, root, f)
					}
					require.Equal(t, 2*n, order)
					fibertest.Finish(t, fibers...)
				})
			})
		})
	}
}
