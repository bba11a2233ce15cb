package asm

import (
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/asm/ctest"
)

// buildShared compiles a prober that finds the assembly given in a shared object: by linkage tables, each slot of which
// the loader fills when it is used.
func buildShared(t *testing.T, assembly string, flags ...string) string {
	dir := t.TempDir()
	object, program := filepath.Join(dir, "libswitch.so"), filepath.Join(dir, "prober")
	// The C library's start files have no landing pads, and would take them from the object.
	args := append([]string{"-I", ".", "-shared", "-fPIC", "-nostartfiles", "-o", object}, flags...)
	require.NoError(t, ctest.Compile(append(args, assembly, "context.c", "check.c")...))
	sources := slices.DeleteFunc(
		proberSources(), func(source string) bool { return source == "context.c" || source == "check.c" },
	)
	args = append([]string{"-Wl,-z,lazy", "-o", program}, flags...)
	require.NoError(t, ctest.Compile(append(append(args, sources...), object, "-lm")...))
	return program
}

func TestSwitchInASharedObject(t *testing.T) {
	probeAll(t, "", buildShared(t, switchSource(), "-O2", framePointers), checks)
}

func TestSwitchInAProtectedSharedObject(t *testing.T) {
	protection := protections[runtime.GOARCH][0]
	probeAll(t, allFeatures, buildShared(t, switchSource(), "-O2", framePointers, protection), checks)
}
