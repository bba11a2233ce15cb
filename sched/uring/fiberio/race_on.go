//go:build race

package fiberio

import (
	"runtime"
	"unsafe"
)

// order orders what has been sent before what is received, as package syscall does for all descriptors.
var order byte

// received reports bytes to the race detector that the kernel has written. What their sender did before it sent them
// happened before.
func received(p []byte) {
	runtime.RaceAcquire(unsafe.Pointer(&order))
	if len(p) > 0 {
		runtime.RaceWriteRange(unsafe.Pointer(&p[0]), len(p))
	}
}

// sending reports bytes to the race detector that the kernel is about to read, and to give to others.
func sending(p []byte) {
	runtime.RaceReleaseMerge(unsafe.Pointer(&order))
	if len(p) > 0 {
		runtime.RaceReadRange(unsafe.Pointer(&p[0]), len(p))
	}
}
