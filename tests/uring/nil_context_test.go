package uring_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/sched"
	"fiberlab/sched/uring"
)

// A context that is missing is an error of the call, before it has done anything.
func TestNilContext(t *testing.T) {
	engines := uring.New(uring.Options{})
	defer func() { require.NoError(t, engines.Close()) }()
	var none context.Context
	for name, call := range map[string]func() error{
		"Open":        func() error { _, err := engines.Open(none, "."); return err },
		"ReadFile":    func() error { _, err := engines.ReadFile(none, "."); return err },
		"Dial":        func() error { _, err := engines.Dial(none, "tcp", "127.0.0.1:1"); return err },
		"Dial unix":   func() error { _, err := engines.Dial(none, "unix", "none"); return err },
		"Listen":      func() error { _, err := engines.Listen(none, "tcp", "127.0.0.1:0"); return err },
		"Listen name": func() error { _, err := engines.Listen(none, "tcp", "localhost:0"); return err },
	} {
		assert.ErrorIs(t, call(), sched.ErrNilContext, name)
	}
}
