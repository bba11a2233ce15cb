package fiber_test

import (
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/stack"
	"fiberlab/tests/internal/cbody"
	"fiberlab/tests/internal/fibertest"
	"fiberlab/tests/internal/suite"
)

// Debuggers and profilers find the end of a fiber's stack: by the unwind tables
// and by frame pointers, from some frames deep.
func TestUnwindersEndAtTheBottom(t *testing.T) {
	cbody.LoadUnwinder()
	ways := map[string]unsafe.Pointer{"backtrace": cbody.Backtrace}
	if slices.Contains(suite.HandSwitched, fiber.Asm) { // frames of other processors are laid out otherwise
		ways["frame pointers"] = cbody.Walk
	}
	for name, body := range ways {
		t.Run(name, func(t *testing.T) {
			suite.EachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
				fibertest.OnRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
					order := cbody.NewOrder(cbody.Task{Depth: stack.DefaultSize})
					defer order.Free()
					f := fibertest.NewC(t, b, "unwound", body, order.Pointer())
					fibertest.Enter(t, root, f)
					fibertest.Finish(t, f)
					frames := order.Answer().Frames
					t.Logf("%x", frames)
					require.Zero(t, order.Answer().Broken, "the last frame names a caller that is not on this stack")
					require.Greater(t, len(frames), cbody.UnwindDepth, "frames of the body itself")
					require.Less(t, len(frames), cbody.UnwindDepth+8, "frames below it")
					if b == fiber.Asm && body == cbody.Backtrace {
						last := frames[len(frames)-1]
						require.Greater(t, last, cbody.BottomFrame())
						require.Less(t, last, cbody.BottomFrame()+64)
					}
				})
			})
		})
	}
}
