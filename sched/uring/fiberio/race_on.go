//go:build race

package fiberio

import (
	"runtime"
	"unsafe"
)

// order orders what has been sent before what is received, as package syscall does for all descriptors.
var order byte

// received tells the race detector that the kernel has written p, which may be empty. To the detector, all that callers
// of sending did before their calls happened before received returns.
func received(p []byte) {
	runtime.RaceAcquire(unsafe.Pointer(&order))
	if len(p) > 0 {
		runtime.RaceWriteRange(unsafe.Pointer(&p[0]), len(p))
	}
}

// sending tells the race detector that the kernel is about to read p, which may be empty, and to pass the bytes on.
func sending(p []byte) {
	runtime.RaceReleaseMerge(unsafe.Pointer(&order))
	if len(p) > 0 {
		runtime.RaceReadRange(unsafe.Pointer(&p[0]), len(p))
	}
}
