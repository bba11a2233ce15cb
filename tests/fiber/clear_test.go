package fiber_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/tests/internal/fibertest"
	"fiberlab/tests/internal/suite"
	"fiberlab/tests/internal/trapbody"
)

// With ClearStack, what C functions have left on a stack is not there for the next fiber that
// gets it; without, it is.
func TestClearedStacksTellNothing(t *testing.T) {
	// Words on the stack that may stay, in the frames of what waits for the next Go body.
	const gaps = 64
	suite.EachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
		for _, size := range []int{0, 1 << 20} {
			for _, words := range []int{200, 5000, 100_000} {
				if max(size, 64<<10) < 8*words+fiber.MinGoStack/2 {
					continue
				}
				for _, clear := range []bool{true, false} {
					t.Run(fmt.Sprintf("%d/%d/%v", size, words, clear), func(t *testing.T) {
						fibertest.OnRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
							cfg := fiber.Config{Name: "secretive", Backend: b, StackSize: size, ClearStack: clear}
							newBody, free := secretive(cfg, words)
							defer free()
							for _, kind := range []string{"C", "Go", "Go", "Goexit", "Go"} {
								told := eventually(func() bool {
									before, after := leftBy(t, root, newBody[kind])
									if clear {
										require.LessOrEqual(t, after, gaps, "after a body in %s", kind)
										return before > gaps
									}
									return before > gaps && after > 0
								})
								require.True(t, told, "the bodies in %s have left nothing", kind)
							}
						})
					})
				}
			}
		}
	})
}

// eventually reports whether one of some calls of run returns true. The Go runtime runs on the stack of a fiber, too,
// and at times where the body's words lay. Then they are gone before they can be counted, and the next run may show
// more.
func eventually(run func() bool) bool {
	for range 100 {
		if run() {
			return true
		}
	}
	return false
}

const secret = 0x5ec2e75ec2e75ec2

// secretive returns how to make fibers whose bodies leave as many words of secret on the stack, by the kind of the
// body. free must be called when the last one is closed.
func secretive(cfg fiber.Config, words int) (newBody map[string]func() (*fiber.Fiber, error), free func()) {
	body, argument, free := trapbody.SpillBody(words, secret)
	return map[string]func() (*fiber.Fiber, error){
		"C":  func() (*fiber.Fiber, error) { return fiber.NewC(cfg, body, argument) },
		"Go": func() (*fiber.Fiber, error) { return fiber.New(cfg, func() { trapbody.Spill(words, secret) }) },
		"Goexit": func() (*fiber.Fiber, error) {
			return fiber.New(cfg, func() { trapbody.Spill(words, secret); runtime.Goexit() })
		},
	}, free
}

// leftBy runs a fiber to its end, and returns how many words of secret lie on its stack then, and how many when the
// next fiber has got it.
func leftBy(t *testing.T, root *fiber.Fiber, newBody func() (*fiber.Fiber, error)) (before, after int) {
	t.Helper()
	f, err := newBody()
	require.NoError(t, err)
	st := f.Stack()
	fibertest.Enter(t, root, f)
	before = left(f)
	fibertest.Finish(t, f)
	next, err := newBody()
	require.NoError(t, err)
	require.True(t, st == next.Stack(), "the next fiber has another stack")
	after = left(next)
	require.NoError(t, next.Close())
	return before, after
}

// left counts the words on the stack of f, which is not running, that are secret.
func left(f *fiber.Fiber) int {
	return trapbody.Count(f.Stack().Lo(), f.Stack().Size()/8, secret)
}
