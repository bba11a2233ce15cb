// Package fibertest makes, enters and ends fibers in tests.
package fibertest

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
)

// New makes a fiber of backend b with a Go body. It must be called on the
// test's goroutine, and the test must finish the fiber and close it.
func New(t *testing.T, b fiber.Backend, name string, body func()) *fiber.Fiber {
	t.Helper()
	f, err := fiber.New(fiber.Config{Name: name, Backend: b}, body)
	require.NoError(t, err)
	return f
}

// NewC is New for a C body.
func NewC(t *testing.T, b fiber.Backend, name string, fn, arg unsafe.Pointer) *fiber.Fiber {
	t.Helper()
	f, err := fiber.NewC(fiber.Config{Name: name, Backend: b}, fn, arg)
	require.NoError(t, err)
	return f
}

// Enter switches from a root to f and demands that it works. For use on the
// test's goroutine.
func Enter(t *testing.T, root, f *fiber.Fiber) {
	t.Helper()
	require.NoError(t, root.SwitchTo(f))
}

// Leave switches from the fiber that calls it to another one, and marks the test
// as failed if that does not work. For use in bodies, where the test must not be
// ended.
func Leave(t *testing.T, to *fiber.Fiber) bool {
	t.Helper()
	return assert.NoError(t, fiber.Current().SwitchTo(to))
}

// EndAfterFailure is for the end of a test that holds many fibers. If the test has failed, it ends and closes the
// fibers that are there, so that what is left of them does not make other tests fail. Their bodies must switch to root,
// and return after a bounded number of entries.
func EndAfterFailure(t *testing.T, root *fiber.Fiber, fibers []*fiber.Fiber) {
	if !t.Failed() {
		return
	}
	for _, f := range fibers {
		if f == nil {
			continue
		}
		for entries := 0; f.State() == fiber.Suspended && entries < 1000; entries++ {
			if root.SwitchTo(f) != nil {
				break
			}
		}
		_ = f.Close()
	}
}

// Finish closes fibers whose bodies have returned.
func Finish(t *testing.T, fibers ...*fiber.Fiber) {
	t.Helper()
	for _, f := range fibers {
		require.Equal(t, fiber.Finished, f.State(), "fiber %q", f.Name())
		require.NoError(t, f.Close())
		require.Equal(t, fiber.Closed, f.State(), "fiber %q", f.Name())
	}
}
