package fiber

/*
#cgo CFLAGS: -O2 -Wall -fno-omit-frame-pointer
#cgo LDFLAGS: -lm -ldl
*/
import "C"

import _ "fiberlab/cgo_ucontext" // the contract of the assembly, on swapcontext
