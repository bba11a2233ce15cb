package fiber

import (
	"go/version"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/asm/ctest"
)

// Since Go 1.26 an M that is in C keeps its P in its own name, and switches move it.
func TestThisRuntimesPsAreMoved(t *testing.T) {
	require.NoError(t, Supported())
	since := version.Compare(version.Lang(goVersion()), "go1.26") >= 0
	require.Equal(t, since, movesP, goVersion())
}

// One thread hands a P to and fro while others take it.
func TestAHandedPIsTakenByOne(t *testing.T) {
	program := filepath.Join(t.TempDir(), "handover")
	require.NoError(t, ctest.Compile("-O2", "-Wall", "-Wextra", "-pthread", "-o", program, "testdata/handover.c"))
	result, err := ctest.Run("", program, "1")
	require.NoError(t, err)
	t.Log(result.Output)
	require.True(t, result.Passed(), "status %d", result.Status)
}
