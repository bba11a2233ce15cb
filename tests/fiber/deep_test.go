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

// nestDeep is how many calls of C by Go lie on a fiber's stacks at once.
const nestDeep = 50

// nest calls C, which calls Go, and so on, left levels deep; it switches away
// before and after each call, and marks the levels that it passes.
func nest(t *testing.T, root *fiber.Fiber, left int, marks *[]int) {
	*marks = append(*marks, left)
	fibertest.Leave(t, root)
	if left > 0 {
		trapbody.Call(func() { nest(t, root, left-1, marks) })
	}
	growStack(left % 8)
	fibertest.Leave(t, root)
	*marks = append(*marks, left)
}

// Each fiber's frames leave in the order in which they came, no matter what the others do at the same time: each has an
// M of its own.
func TestDeepNesting(t *testing.T) {
	suite.EachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
		random := suite.NewRand(t)
		fibertest.OnRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
			const n = 6
			fibers := make([]*fiber.Fiber, n)
			marks := make([][]int, n)
			for i := range fibers {
				f, err := fiber.New(
					fiber.Config{Name: fmt.Sprint("nest ", i), Backend: b, StackSize: 256 << 10},
					func() {
						nest(t, root, nestDeep, &marks[i])
					},
				)
				require.NoError(t, err)
				fibers[i] = f
			}
			running := append([]*fiber.Fiber(nil), fibers...)
			for len(running) > 0 {
				i := random.IntN(len(running))
				fibertest.Enter(t, root, running[i])
				if running[i].State() == fiber.Finished {
					running = append(running[:i], running[i+1:]...)
				}
				if random.IntN(50) == 0 {
					runtime.GC()
				}
			}
			for _, m := range marks {
				require.Len(t, m, 2*(nestDeep+1))
				for level := range m {
					require.Equal(t, max(nestDeep-level, level-nestDeep-1), m[level])
				}
			}
			fibertest.Finish(t, fibers...)
		})
	})
}

// Goexit in a Go function that C called unwinds the C frames as well and
// finishes the fiber, as it does without C.
func TestGoexitUnderC(t *testing.T) {
	fibertest.EachRoot(t, func(t *testing.T, root *fiber.Fiber) {
		b := root.Backend()
		for range 3 {
			var deferred []string
			f := fibertest.New(t, b, "goexit", func() {
				defer func() { deferred = append(deferred, "body") }()
				trapbody.Call(func() {
					defer func() { deferred = append(deferred, "callback") }()
					trapbody.Call(func() { runtime.Goexit() })
					deferred = append(deferred, "not reached")
				})
				deferred = append(deferred, "not reached")
			})
			fibertest.Enter(t, root, f)
			require.Equal(t, []string{"callback", "body"}, deferred)
			fibertest.Finish(t, f)

			// The runner serves on, and can call C and leave from there.
			steps := 0
			f = fibertest.New(t, b, "after", func() {
				steps++
				trapbody.Call(func() {
					if b != fiber.Goroutine {
						fibertest.Leave(t, root)
					}
					steps++
				})
			})
			fibertest.Enter(t, root, f)
			if b != fiber.Goroutine {
				fibertest.Enter(t, root, f)
			}
			require.Equal(t, 2, steps)
			fibertest.Finish(t, f)
		}
	})
}

// A panic passes through C to a recover further up on the same fiber.
func TestPanicThroughC(t *testing.T) {
	fibertest.EachRoot(t, func(t *testing.T, root *fiber.Fiber) {
		b := root.Backend()
		recovered := 0
		f := fibertest.New(t, b, "panics", func() {
			for i := range 20 {
				func() {
					defer func() {
						assert.Equal(t, i, recover())
						recovered++
					}()
					trapbody.Call(func() {
						trapbody.Call(func() { panic(i) })
					})
				}()
				fibertest.Leave(t, root)
			}
		})
		for range 20 {
			fibertest.Enter(t, root, f)
		}
		require.Equal(t, 20, recovered)
		fibertest.Enter(t, root, f)
		fibertest.Finish(t, f)
	})
}
