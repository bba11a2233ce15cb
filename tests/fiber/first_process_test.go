package fiber_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/asm/ctest"
	"fiberlab/fiber"
	"fiberlab/internal/firstprocess"
	"fiberlab/tests/internal/child"
	"fiberlab/tests/internal/suite"
)

// runAsFirst runs a child as process 1 of a namespace, and returns what it wrote and how it ended.
func runAsFirst(t *testing.T, name string, b fiber.Backend, env ...string) (string, error) {
	t.Helper()
	plain := child.Prepare(t.Context(), name, b, env...)
	c := firstprocess.Command(t, plain.Args...)
	c.Env = plain.Env
	out, err := c.CombinedOutput()
	return string(out), err
}

// In a container the first thread may have number 1, and so have many words. The runtime finds the threads of fibers
// all the same.
func TestInterruptionInFirstProcess(t *testing.T) {
	suite.EachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
		for _, name := range []string{childInterruptsMoved, childInterruptsBodies} {
			out, err := runAsFirst(t, name, b)
			require.NoError(t, err, out)
			require.Contains(t, out, "ok\n")
		}
	})
}

// A program that is process 1 ends by a crash although the default actions of signals do nothing to it, and reports as
// others do.
func TestCrashOfFirstProcess(t *testing.T) {
	for _, b := range suite.HandSwitched {
		out, err := runAsFirst(t, childFault, b, envFault+"=SIGSEGV")
		require.Error(t, err, out)
		require.Contains(t, out, `fiberlab: SIGSEGV in the C body of fiber "the deep one"`)
		require.Regexp(t, `(?m)^goroutine \d+ `, out)
		if ctest.Emulated() {
			continue // see TestCrashOverSuspendedFibers
		}
		out, err = runAsFirst(t, childQuits, b, envFault+"=SIGQUIT", "GOTRACEBACK=crash")
		require.Error(t, err, out)
		require.Contains(t, out, "fiberlab: every thread has reported")
	}
}
