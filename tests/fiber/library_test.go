package fiber_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/asm/ctest"
	"fiberlab/fiber"
	"fiberlab/tests/internal/suite"
)

// build runs a compiler, for the architecture of this program.
func build(t *testing.T, command ...string) {
	t.Helper()
	c := exec.Command(command[0], command[1:]...)
	c.Env = buildEnv()
	out, err := c.CombinedOutput()
	require.NoError(t, err, string(out))
}

// Fibers run in a Go library for programs in C, which load it when they are running already. The g slot is in the
// library's thread-local storage, and the first thread is one of C's.
func TestLibraryForCPrograms(t *testing.T) {
	if testing.Short() && !ctest.Emulated() {
		t.Skip("in full sizes only: the standard library is compiled anew for shared libraries")
	}
	dir := t.TempDir()
	library, host := filepath.Join(dir, "libshared.so"), filepath.Join(dir, "host")
	build(
		t, "go", "build", "-buildvcs=false", "-buildmode=c-shared", "-o", library,
		"../internal/trapbody/testdata/shared",
	)
	query := exec.Command("go", "env", "CC")
	query.Env = buildEnv()
	cc, err := query.Output()
	require.NoError(t, err)
	build(
		t,
		append(
			strings.Fields(string(cc)), "-o", host, "../internal/trapbody/testdata/shared/host/host.c", "-pthread",
			"-ldl",
		)...)
	for _, b := range fiber.Backends() {
		out, err := runBuilt(t, []string{host, library}, fiber.EnvBackend+"="+b.String())
		require.NoError(t, err, "%v: %s", b, out)
		require.Equal(t, "ok\n", out)
	}
}

// A plugin runs fibers in a host that runs them too: both take the threads for the same ones.
func TestPluginInAHostWithFibers(t *testing.T) {
	if suite.Scaled(1, 0) == 0 {
		t.Skip("in full sizes only: the standard library is compiled anew for plugins")
	}
	dir := t.TempDir()
	loaded, host := filepath.Join(dir, "loaded.so"), filepath.Join(dir, "host")
	build(
		t, "go", "build", "-buildvcs=false", "-buildmode=plugin", "-o", loaded,
		"../internal/trapbody/testdata/plugin/loaded",
	)
	build(t, "go", "build", "-buildvcs=false", "-o", host, "../internal/trapbody/testdata/plugin/host")
	out, err := runBuilt(t, []string{host, loaded})
	require.NoError(t, err, out)
	require.Equal(t, "100 tasks\n", out)
}

// With another C library than glibc the goroutine backend works and is the default, which one line says. The other
// backends refuse with the reason.
func TestAnotherCLibrary(t *testing.T) {
	cc, err := exec.LookPath("musl-gcc")
	if err != nil || ctest.Emulated() {
		t.Skip("musl-gcc, a compiler for this processor that links with musl, is missing: install musl-tools")
	}
	if testing.Short() {
		t.Skip("in full sizes only: the standard library is compiled anew for musl")
	}
	dir := t.TempDir()
	c := exec.Command(
		"go", "build", "-buildvcs=false", "-o", dir+"/", "fiberlab/examples/hello", "fiberlab/sched/forkjoin",
	)
	c.Env = append(buildEnv(), "CC="+cc, "CGO_CFLAGS=", "CGO_LDFLAGS=")
	out, err := c.CombinedOutput()
	require.NoError(t, err, string(out))
	hello := []string{filepath.Join(dir, "hello")}

	said, err := runBuilt(t, hello, fiber.EnvBackend+"=")
	require.NoError(t, err, said)
	line, words, _ := strings.Cut(said, "\n")
	require.Contains(t, line, "the backend is goroutine: asm and ucontext need glibc")
	require.Equal(t, "hello\nfibers\n", words)

	for _, b := range suite.HandSwitched {
		said, err := runBuilt(t, hello, fiber.EnvBackend+"="+b.String())
		require.Error(t, err, said)
		requireOneLine(t, said, fiber.ErrUnsupported.Error(), "build with glibc, or use the backend goroutine")
	}
}
