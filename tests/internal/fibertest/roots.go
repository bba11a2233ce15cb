package fibertest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/tests/internal/suite"
)

// OnRoot runs test on the test's own goroutine, which is a root fiber for as long.
func OnRoot(t *testing.T, b fiber.Backend, test func(t *testing.T, root *fiber.Fiber)) {
	t.Helper()
	root, err := fiber.Attach(b)
	require.NoError(t, err)
	defer func() { assert.NoError(t, root.Detach()) }()
	test(t, root)
}

// EachRoot is suite.EachBackend with OnRoot.
func EachRoot(t *testing.T, test func(t *testing.T, root *fiber.Fiber)) {
	t.Helper()
	suite.EachBackend(t, func(t *testing.T, b fiber.Backend) {
		OnRoot(t, b, test)
	})
}

// KeepPool keeps a root attached, on another goroutine, until the test ends: while there is one the pool does not drain
// itself, however slowly the test goes on.
func KeepPool(t *testing.T) {
	t.Helper()
	attached, over, detached := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(detached)
		OnAnotherRoot(t, fiber.Goroutine, func(*fiber.Fiber) {
			close(attached)
			<-over
		})
	}()
	t.Cleanup(func() {
		close(over)
		<-detached
	})
	select {
	case <-attached:
	case <-detached:
		t.FailNow() // and why has been said
	}
}

// OnAnotherRoot runs do on a new goroutine, which is a root of backend b for as long, and returns when do has.
func OnAnotherRoot(t *testing.T, b fiber.Backend, do func(root *fiber.Fiber)) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		root, err := fiber.Attach(b)
		if !assert.NoError(t, err) {
			return
		}
		defer func() { assert.NoError(t, root.Detach()) }()
		do(root)
	}()
	<-done
}
