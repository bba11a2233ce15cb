package asm

import (
	"os"
	"regexp"
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
	text, err := os.ReadFile(switchSource())
	require.NoError(t, err)
	source, ours := string(text), recorded(t, switchSource())
	const flag = "-mbranch-protection=standard"
	parts := compileProber(t, "-O2", framePointers, flag)
	for name, faulty := range map[string]string{
		"no landing pad in marl_fiber_swap":    withoutPad(source, "marl_fiber_swap"),
		"no landing pad in marl_fiber_swap_fp": withoutPad(source, "marl_fiber_swap_fp"),
		"br to a return site":                  strings.Replace(source, "#define RESUME ret\n", "#define RESUME br\n", 1),
	} {
		t.Run(name, func(t *testing.T) {
			if faulty == source && !ours {
				t.Skip("another source, in which there is nothing to take away")
			}
			program, err := parts.withSwitch(faulty)
			require.NoError(t, err)
			for _, variant := range []string{"swap", "swap_fp"} {
				if !probe(t, allFeatures, program, variant, "registers").Passed() {
					return
				}
			}
			notNoticed(t, ours)
		})
	}
}

// withoutPad is the assembly without the landing pad that follows on a label, or the assembly itself if none does.
func withoutPad(assembly, label string) string {
	pad := regexp.MustCompile(`(?m)(^` + label + `:\s+(?:\.cfi_startproc\s+)?)(?:BTI_C|bti\s+c|hint\s+#34)\b.*\n`)
	return pad.ReplaceAllString(assembly, "$1")
}

func notNoticed(t *testing.T, ours bool) {
	if ours {
		t.Fatal("no check catches it")
	}
	t.Log("no check catches it; this source is not the recorded one, so that demands nothing")
}
