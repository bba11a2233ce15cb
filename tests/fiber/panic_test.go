package fiber_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/tests/internal/fibertest"
	"fiberlab/tests/internal/suite"
	"fiberlab/tests/internal/trapbody"
)

// Panics unwind the frames of their fiber alone, in the usual order, however often other fibers run in between.
func TestPanicAndRecoverAcrossSwitches(t *testing.T) {
	fibertest.EachRoot(t, func(t *testing.T, root *fiber.Fiber) {
		const count = 20
		fibers := make([]*fiber.Fiber, count)
		traces := make([][]string, count)
		for i := range fibers {
			note := func(what string) { traces[i] = append(traces[i], what) }
			inner := func() {
				defer func() {
					note("inner")
					fibertest.Leave(t, root) // in mid-panic
				}()
				panic(i)
			}
			outer := func() {
				defer func() {
					note(fmt.Sprint("recovered ", recover()))
					fibertest.Leave(t, root)
				}()
				defer note("outer")
				inner()
				note("not reached")
			}
			fibers[i] = fibertest.New(t, root.Backend(), "panics", func() {
				defer note("body")
				fibertest.Leave(t, root)
				outer()
				assert.Nil(t, recover())
			})
		}
		for range 4 {
			for _, f := range fibers {
				fibertest.Enter(t, root, f)
			}
		}
		fibertest.Finish(t, fibers...)
		for i, trace := range traces {
			require.Equal(t, []string{"inner", "outer", fmt.Sprint("recovered ", i), "body"}, trace)
		}
	})
}

// A panic in a deferred function of a panic, and a panic that is thrown again.
func TestNestedPanics(t *testing.T) {
	fibertest.EachRoot(t, func(t *testing.T, root *fiber.Fiber) {
		var caught []any
		f := fibertest.New(t, root.Backend(), "panics", func() {
			defer func() { caught = append(caught, recover()) }()
			defer func() {
				fibertest.Leave(t, root)
				first := recover()
				caught = append(caught, first)
				fibertest.Leave(t, root)
				panic("third")
			}()
			defer func() {
				fibertest.Leave(t, root)
				panic("second")
			}()
			panic("first")
		})
		for range 4 {
			fibertest.Enter(t, root, f)
		}
		require.Equal(t, []any{"second", "third"}, caught)
		fibertest.Finish(t, f)
	})
}

// A runtime error is a panic like any other.
func TestRecoverRuntimeError(t *testing.T) {
	fibertest.EachRoot(t, func(t *testing.T, root *fiber.Fiber) {
		var nothing *[1 << 10]int
		var zero int
		for range 10 {
			var caught []any
			f := fibertest.New(t, root.Backend(), "faults", func() {
				for _, fault := range []func(){
					func() { _ = nothing[5] },
					func() { _ = 1 / zero },
					func() { _ = make([]int, 1)[zero+1] },
				} {
					func() {
						defer func() { caught = append(caught, recover()) }()
						fault()
					}()
					fibertest.Leave(t, root)
				}
			})
			for range 4 {
				fibertest.Enter(t, root, f)
			}
			require.Len(t, caught, 3)
			for _, c := range caught {
				require.Implements(t, (*runtime.Error)(nil), c)
			}
			fibertest.Finish(t, f)
		}
	})
}

// A panic passes over C frames and is recovered by the Go function above them.
func TestPanicOverCFrames(t *testing.T) {
	suite.EachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
		fibertest.OnRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
			fibers := make([]*fiber.Fiber, 10)
			for i := range fibers {
				fibers[i] = fibertest.New(t, b, "panics", func() {
					for range 10 {
						func() {
							defer func() { assert.Equal(t, i, recover()) }()
							trapbody.CallDeep(5000, func() {
								fibertest.Leave(t, root)
								panic(i)
							})
						}()
						fibertest.Leave(t, root)
					}
				})
			}
			for range 2*10 + 1 {
				for _, f := range fibers {
					fibertest.Enter(t, root, f)
				}
			}
			fibertest.Finish(t, fibers...)
		})
	})
}
