package cgo_ucontext

import (
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/asm/ctest"
)

// abort is the status of a program that ended by it.
const abort = 128 + 6

// buildProber compiles the prober of package asm with this package's switch to be probed. The assembly is linked for
// the inline variant, which the prober contains but this test does not use.
func buildProber(t *testing.T, flags ...string) string {
	const prober = "../asm/testdata/"
	sources, err := filepath.Glob(prober + "*.c")
	require.NoError(t, err)
	program := filepath.Join(t.TempDir(), "prober")
	args := append([]string{"-o", program}, flags...)
	for _, source := range sources {
		if name := filepath.Base(source); name != "variants.c" && name != "worlds.c" {
			args = append(args, source)
		}
	}
	require.Greater(t, len(args), len(flags)+2, "no sources in "+prober)
	args = append(args, prober+"probe_"+runtime.GOARCH+".S", "testdata/variants.c", "context.c")
	args = append(args, "../asm/swap_"+runtime.GOARCH+".S", "../asm/context.c", "-lm")
	require.NoError(t, ctest.Compile(args...))
	return program
}

func probe(t *testing.T, cpu, program, check string) ctest.Result {
	seed := strconv.FormatUint(rand.Uint64(), 10)
	t.Log("seed", seed)
	result, err := ctest.Run(cpu, program, "ucontext", check, seed)
	require.NoError(t, err)
	if result.Status == ctest.Skipped {
		t.Skip(result.Output)
	}
	return result
}

func TestContextSwitch(t *testing.T) {
	protection := map[string]string{
		"amd64": "-fcf-protection=full",
		"arm64": "-mbranch-protection=standard",
	}[runtime.GOARCH]
	for name, build := range map[string]struct{ cpu, flag string }{
		"plain":     {"", "-O2"},
		"optimised": {"", "-O3"},
		"protected": {"max", protection},
	} {
		t.Run(name, func(t *testing.T) {
			program := buildProber(t, "-fno-omit-frame-pointer", build.flag)
			for _, check := range []string{"registers", "control", "entry", "rounding", "locals", "backtrace", "frames"} {
				t.Run(check, func(t *testing.T) {
					result := probe(t, build.cpu, program, check)
					require.True(t, result.Passed(), "status %d: %s", result.Status, result.Output)
				})
			}
		})
	}
}

func TestReturnedBodyOfAContextAborts(t *testing.T) {
	result := probe(t, "", buildProber(t, "-O2"), "returned")
	require.Equal(t, abort, result.Status, result.Output)
	require.Contains(t, result.Output, "fiberlab: the body of a fiber returned: it must end by switching")
}
