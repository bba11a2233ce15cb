// Package crash is for children that end by a crash, and for what their reports must say.
package crash

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// RequirePanic checks that text, the report of a program, shows that Panic has ended it.
func RequirePanic(t *testing.T, text string) {
	t.Helper()
	require.Contains(t, text, panicText)
	require.Contains(t, text, "crash.Panic")
	require.Contains(t, text, "panic.go")
}

// RequireGoReport checks that text holds what the runtime writes when it dies.
func RequireGoReport(t *testing.T, text string) {
	t.Helper()
	require.Regexp(t, `SIGSEGV|unexpected fault address`, text)
	require.Regexp(t, `(?m)^goroutine \d+ `, text)
}
