package fiber_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/tests/internal/child"
	"fiberlab/tests/internal/suite"
	"fiberlab/tests/internal/trapbody"
)

// buildAttach builds a small program, for the architecture of this one, that
// believes to run on that Go runtime.
func buildAttach(t *testing.T, version string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "attach")
	build(t, "go", "build", "-buildvcs=false", "-o", program,
		"-ldflags", "-X fiberlab/fiber.runtimeVersion="+version, "../internal/trapbody/testdata/attach")
	return program
}

// buildEnv is the environment in which Go builds for the architecture of this program.
func buildEnv() []string {
	return append(os.Environ(), "CGO_ENABLED=1", "GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH)
}

// runBuilt runs a program that was built and returns what it wrote and how it ended.
func runBuilt(t *testing.T, program []string, env ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), child.Limit)
	defer cancel()
	cmd := child.Command(ctx, program...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if errors.Is(err, syscall.ENOEXEC) {
		t.Skip("a foreign program: set FIBERLAB_EXEC to the command that runs it")
	}
	require.NoError(t, ctx.Err(), string(out))
	return string(out), err
}

// requireOneLine checks that out is a single line that says all of that.
func requireOneLine(t *testing.T, out string, says ...string) {
	t.Helper()
	require.Equal(t, 1, strings.Count(out, "\n"), out)
	for _, text := range says {
		require.Contains(t, out, text)
	}
}

// A Go release that fiberlab was not tested on is used if it passes the probes. One line says so, unless the
// user knows.
func TestUntestedRuntimeIsNamed(t *testing.T) {
	program := buildAttach(t, "go1.99")
	for _, b := range suite.HandSwitched {
		choice := fiber.EnvBackend + "=" + b.String()
		out, err := runBuilt(t, []string{program}, choice)
		require.NoError(t, err, out)
		line, rest, _ := strings.Cut(out, "\n")
		requireOneLine(t, line+"\n", "fiberlab: ", "go1.99", fiber.OldestGo, fiber.NewestGo, fiber.EnvRuntime+"=try")
		require.Equal(t, "ok\n", rest)

		// What the program itself says is not disturbed.
		cmd := child.Command(t.Context(), program)
		cmd.Env = append(os.Environ(), choice)
		own, err := cmd.Output()
		require.NoError(t, err)
		require.Equal(t, "ok\n", string(own))

		out, err = runBuilt(t, []string{program}, choice, fiber.EnvRuntime+"=try")
		require.NoError(t, err, out)
		require.Equal(t, "ok\n", out)
	}
	// Go's own coroutines work on any runtime.
	out, err := runBuilt(t, []string{program}, fiber.EnvBackend+"=goroutine")
	require.NoError(t, err, out)
	require.Equal(t, "ok\n", out)

	out, err = runBuilt(t, []string{program}, fiber.EnvBackend+"=nonsense")
	require.Error(t, err)
	requireOneLine(t, out, "unknown backend", `"nonsense"`, fiber.EnvBackend)
	for _, b := range fiber.Backends() {
		require.Contains(t, out, b.String())
	}
}

// childKeeps has C code save its registers in thread-local storage, on more threads than the probes use. On arm64 and
// riscv64, one of these registers is g.
var childKeeps = child.New("registers are kept in thread-local storage", func(t child.T, b fiber.Backend) {
	const threads = 8
	kept := make(chan error)
	hold := make(chan struct{})
	var over sync.WaitGroup
	over.Add(threads)
	for range threads {
		go func() {
			defer over.Done()
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			kept <- trapbody.KeepRegisters()
			<-hold // so that each goroutine has a thread of its own
		}()
	}
	for range threads {
		require.NoError(t, <-kept)
	}
	close(hold)
	over.Wait()
	require.NoError(t, fiber.Config{Backend: b}.Check())
})

// Words of thread-local storage that happen to be equal to the g slot are not taken for it.
func TestProbesFindTheSlotAmongEqualWords(t *testing.T) {
	suite.EachHandSwitched(t, func(t *testing.T, b fiber.Backend) { child.RunOK(t, childKeeps, b) })
}
