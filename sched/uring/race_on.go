//go:build race

package uring

import (
	"runtime"
	"unsafe"
)

// order orders what has been sent before what is received, as package syscall does for all descriptors.
var order byte

// wrote tells the race detector what the kernel has written.
func wrote(p []byte) {
	if len(p) > 0 {
		runtime.RaceWriteRange(unsafe.Pointer(&p[0]), len(p))
	}
}

// received is wrote for bytes from a connection: what their sender did before it sent them happened before.
func received(p []byte) {
	runtime.RaceAcquire(unsafe.Pointer(&order))
	wrote(p)
}

// sending tells the race detector what the kernel is about to read and to give to others.
func sending(p []byte) {
	runtime.RaceReleaseMerge(unsafe.Pointer(&order))
	if len(p) > 0 {
		runtime.RaceReadRange(unsafe.Pointer(&p[0]), len(p))
	}
}
