package fiber_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
)

// build runs a compiler, for the architecture of this program.
func build(t *testing.T, command ...string) {
	t.Helper()
	c := exec.Command(command[0], command[1:]...)
	c.Env = buildEnv()
	out, err := c.CombinedOutput()
	require.NoError(t, err, string(out))
}

// Fibers run in a Go library for programs in C, which load it when they are running already: the g slot is in the
// library's thread-local storage, and the first thread is one of C's.
func TestLibraryForCPrograms(t *testing.T) {
	dir := t.TempDir()
	library, host := filepath.Join(dir, "libshared.so"), filepath.Join(dir, "host")
	build(t, "go", "build", "-buildvcs=false", "-buildmode=c-shared", "-o", library, "../internal/trapbody/testdata/shared")
	query := exec.Command("go", "env", "CC")
	query.Env = buildEnv()
	cc, err := query.Output()
	require.NoError(t, err)
	build(t, append(strings.Fields(string(cc)), "-o", host, "../internal/trapbody/testdata/shared/host/host.c", "-pthread", "-ldl")...)
	for _, b := range fiber.Backends() {
		out, err := runBuilt(t, []string{host, library}, fiber.EnvBackend+"="+b.String())
		require.NoError(t, err, "%v: %s", b, out)
		require.Equal(t, "ok\n", out)
	}
}
