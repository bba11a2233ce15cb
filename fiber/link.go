package fiber

/*
#cgo CFLAGS: -O2 -Wall -fno-omit-frame-pointer
#cgo LDFLAGS: -lm -ldl
*/
import "C"

import (
	_ "fiberlab/asm"          // marl_fiber_swap_fp and its context
	_ "fiberlab/cgo_ucontext" // the same contract on swapcontext
)
