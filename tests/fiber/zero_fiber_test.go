package fiber_test

import (
	"testing"

	"fiberlab/fiber"
	"fiberlab/tests/internal/check"
	"fiberlab/tests/internal/fibertest"
)

// No call on a fiber that was never made ends in a nil dereference, on any goroutine.
func TestZeroFiberIsRefused(t *testing.T) {
	fibertest.EachRoot(t, func(t *testing.T, root *fiber.Fiber) {
		all := func() {
			check.CallEachMethod(t, new(fiber.Fiber))
			check.CallEachMethod(t, (*fiber.Fiber)(nil))
		}
		all()
		f := fibertest.New(t, root.Backend(), "caller", all)
		fibertest.Enter(t, root, f)
		fibertest.Finish(t, f)
		requireWorks(t, root)
	})
}
