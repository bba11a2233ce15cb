package fiber

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/asm/ctest"
)

// A profiler or debugger that stops a thread anywhere in a switch finds its caller. It needs .cfi directives, which say
// where the switch keeps the return address. A switch without them is right all the same: if it is not the project's
// own, the test only reports that.
func TestUnwindAtEachInstructionOfASwitch(t *testing.T) {
	for _, flag := range []string{"-fcf-protection=none", "-fcf-protection=full"} {
		t.Run(flag, func(t *testing.T) {
			program := filepath.Join(t.TempDir(), "steps")
			// By frame pointers the stack cannot be unwound between the loads of rbp and rsp.
			require.NoError(t, ctest.Compile("-O2", "-Wall", "-Wextra", "-fomit-frame-pointer", flag, "-o", program,
				"testdata/steps_amd64.c", "balance_amd64.S", "../asm/swap_amd64.S", "../asm/context.c"))
			result, err := ctest.Run("", program)
			require.NoError(t, err)
			if result.Status == ctest.Skipped && ctest.Emulated() {
				t.Skip("the emulator does not run single instructions")
			}
			ours, err := ctest.Recorded("../asm/swap_amd64.S")
			require.NoError(t, err)
			if !ours && result.Status == 1 {
				t.Log(result.Output)
				return
			}
			require.True(t, result.Passed(), "status %d: %s", result.Status, result.Output)
		})
	}
}
