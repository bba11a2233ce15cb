//go:build race

package identity

import "unsafe"

// CallHandingOver is Call under the race detector, which knows the order of fibers
// by the annotations of ordinary cgo calls only. A fresh goroutine then waits for
// its P.
func CallHandingOver(fn, arg unsafe.Pointer) { Call(fn, arg) }
