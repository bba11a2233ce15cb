// Package check has checks that several packages need.
package check

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// PanicsWith checks that f panics with an error that wraps want.
func PanicsWith(t *testing.T, want error, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		err, ok := recover().(error)
		if assert.True(t, ok, "no panic with an error") {
			assert.ErrorIs(t, err, want)
		}
	}()
	f()
}
