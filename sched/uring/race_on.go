//go:build race

package uring

import (
	"runtime"
	"unsafe"
)

// wrote tells the race detector what the kernel has written.
func wrote(p []byte) {
	if len(p) > 0 {
		runtime.RaceWriteRange(unsafe.Pointer(&p[0]), len(p))
	}
}
