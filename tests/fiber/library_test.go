package fiber_test

import (
	"os"
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

// With another C library, such as musl, a build ends with one error, and not in the linker. This one is glibc, without
// its name.
func TestOtherLibrariesEndWithOneError(t *testing.T) {
	dir := t.TempDir()
	require.NoError(
		t,
		os.WriteFile(filepath.Join(dir, "features.h"), []byte("#include_next <features.h>\n#undef __GLIBC__\n"), 0o600),
	)
	c := exec.Command("go", "build", "fiberlab/fiber")
	c.Env = append(os.Environ(), "CGO_CFLAGS=-I"+dir)
	out, err := c.CombinedOutput()
	require.Error(t, err, string(out))
	require.Equal(t, 1, strings.Count(string(out), "error:"), string(out))
	require.Contains(t, string(out), "fiberlab needs glibc: ")
}
