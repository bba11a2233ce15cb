package uring_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/sched"
	"fiberlab/sched/uring"
	"fiberlab/sched/uring/fiberio"
)

// A context that is missing is an error of the call, before it has done anything.
func TestNilContext(t *testing.T) {
	engines := uring.New(uring.Options{})
	defer func() { require.NoError(t, engines.Close()) }()
	var none context.Context
	for name, call := range map[string]func() error{
		"Open":        func() error { _, err := fiberio.Open(none, engines, "."); return err },
		"ReadFile":    func() error { _, err := fiberio.ReadFile(none, engines, "."); return err },
		"Dial":        func() error { _, err := fiberio.Dial(none, engines, "tcp", "127.0.0.1:1"); return err },
		"Dial unix":   func() error { _, err := fiberio.Dial(none, engines, "unix", "none"); return err },
		"Listen":      func() error { _, err := fiberio.Listen(none, engines, "tcp", "127.0.0.1:0"); return err },
		"Listen name": func() error { _, err := fiberio.Listen(none, engines, "tcp", "localhost:0"); return err },
	} {
		assert.ErrorIs(t, call(), sched.ErrNilContext, name)
	}
}
