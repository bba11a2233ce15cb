//go:build amd64 || arm64

package fiber

import _ "fiberlab/asm" // marl_fiber_swap_fp and its context

// hasAsm reports whether the project has a switch in assembly for this processor.
const hasAsm = true
