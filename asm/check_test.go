package asm

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/asm/ctest"
)

// mayResume has, for each way in which a fiber is suspended, the switches that may resume it.
var mayResume = map[string]map[string]bool{
	"prepared": {"swap": true, "swap_fp": true, "inline": true},
	"swap":     {"swap": true},
	"swap_fp":  {"swap": true, "swap_fp": true},
	"inline":   {"inline": true},
	"running":  {},
}

// symbols has the name of each switch in C.
var symbols = map[string]string{
	"swap": "marl_fiber_swap", "swap_fp": "marl_fiber_swap_fp", "inline": "marl_fiber_swap_inline",
}

// A switch that resumes what another one has suspended corrupts registers far from the fault.
// A debug build names the fault.
func TestDebugBuildsCatchTheWrongSwitch(t *testing.T) {
	for _, build := range []struct {
		name  string
		flags []string
	}{
		{"debug", []string{"-O2", "-DMARL_DEBUG", "-Werror"}},
		{"debug, not optimised", []string{"-O0", "-DMARL_DEBUG", "-Werror"}},
		{"plain", []string{"-O2"}},
	} {
		program := filepath.Join(t.TempDir(), "worlds")
		args := append([]string{"-Wall", "-Wextra", "-o", program}, build.flags...)
		require.NoError(t, ctest.Compile(append(args, "testdata/worlds.c", switchSource(), "context.c", "check.c")...))
		for suspended, allowed := range mayResume {
			for by, symbol := range symbols {
				t.Run(fmt.Sprintf("%s/%s by %s", build.name, suspended, by), func(t *testing.T) {
					if !allowed[by] && build.name == "plain" {
						return // anything may happen
					}
					result, err := ctest.Run("", program, suspended, by)
					require.NoError(t, err)
					if allowed[by] {
						require.True(t, result.Passed(), "status %d: %s", result.Status, result.Output)
						return
					}
					said := "fiberlab: " + symbol + " resumes a context in which nothing is suspended: prepare it by " +
						"marl_fiber_set_target, or let a switch suspend its fiber first\n"
					if symbols[suspended] != "" {
						said = "fiberlab: " + symbol + " resumes a context that was suspended by " + symbols[suspended] +
							": use the same switch on both sides\n"
					}
					require.True(t, strings.HasPrefix(result.Output, said), result.Output) // an emulator may say more
					require.Equal(t, abort, result.Status)
				})
			}
		}
	}
}

// And it says nothing of the right ones.
func TestSwitchInADebugBuild(t *testing.T) {
	probeAll(t, "", buildProber(t, "-O2", framePointers, "-DMARL_DEBUG"), checks)
}
