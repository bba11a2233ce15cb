package asm

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// protections are the compilers' options by which return addresses are signed and branch targets checked.
var protections = map[string][]string{
	"amd64": {"-fcf-protection=full", "-fcf-protection=branch"},
	"arm64": {"-mbranch-protection=standard", "-mbranch-protection=pac-ret", "-mbranch-protection=pac-ret+leaf+bti"},
}

// allFeatures is the emulated processor that has what the options above need.
const allFeatures = "max"

func TestBranchProtection(t *testing.T) {
	for _, protection := range protections[runtime.GOARCH] {
		t.Run(protection, func(t *testing.T) {
			program := buildProber(t, "-O2", framePointers, protection)
			probeAll(t, allFeatures, program, checks)
		})
	}
}

// Where branch targets are checked, a missing landing pad and a br in place of ret must be caught; were they not, the
// test above would prove nothing.
func TestBranchTargetsAreEnforced(t *testing.T) {
	if runtime.GOARCH != "arm64" {
		t.Skip("Linux checks branch targets of programs on arm64 only")
	}
	source, err := os.ReadFile(switchSource())
	require.NoError(t, err)
	const flag = "-mbranch-protection=standard"
	parts := compileProber(t, "-O2", framePointers, flag)
	for name, edit := range map[string]struct{ old, new string }{
		"no landing pad in marl_fiber_swap":    {"marl_fiber_swap:\n    .cfi_startproc\n    BTI_C\n", "marl_fiber_swap:\n    .cfi_startproc\n"},
		"no landing pad in marl_fiber_swap_fp": {"marl_fiber_swap_fp:\n    .cfi_startproc\n    BTI_C\n", "marl_fiber_swap_fp:\n    .cfi_startproc\n"},
		"br to a return site":                  {"#define RESUME ret\n", "#define RESUME br\n"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, 1, strings.Count(string(source), edit.old))
			program, err := parts.withSwitch(strings.Replace(string(source), edit.old, edit.new, 1))
			require.NoError(t, err)
			for _, variant := range []string{"swap", "swap_fp"} {
				if !probe(t, allFeatures, program, variant, "registers").Passed() {
					return
				}
			}
			require.Fail(t, "nobody noticed")
		})
	}
	// Only by a linkage table is the second half of a switch called.
	t.Run("no landing pad in marl_fiber_resume_all", func(t *testing.T) {
		const pad = "marl_fiber_resume_all:\n    .cfi_startproc\n    BTI_C\n"
		require.Equal(t, 1, strings.Count(string(source), pad))
		assembly := filepath.Join(t.TempDir(), "swap.S")
		unpadded := strings.Replace(string(source), pad, strings.TrimSuffix(pad, "    BTI_C\n"), 1)
		require.NoError(t, os.WriteFile(assembly, []byte(unpadded), 0o644))
		program := buildShared(t, assembly, "-O2", framePointers, flag)
		require.True(t, probe(t, allFeatures, program, "inline", "registers").Passed())
		require.False(t, probe(t, allFeatures, program, "mixed", "registers").Passed(), "nobody noticed")
	})
}
