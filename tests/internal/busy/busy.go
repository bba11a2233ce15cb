// Package busy keeps processors busy from outside of the program.
package busy

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	_ "fiberlab/internal/platform"
)

// Process starts a process that computes on one processor until the returned function is called, which ends it
// and must be called once. If it is never called, the process ends after ten minutes of computing.
func Process(tb testing.TB) (stop func()) {
	tb.Helper()
	cmd := exec.Command("/bin/sh", "-c", "ulimit -t 600; while :; do :; done")
	require.NoError(tb, cmd.Start())
	return func() {
		tb.Helper()
		require.NoError(tb, cmd.Process.Kill())
		_ = cmd.Wait() // an error that says it was killed
	}
}
