//go:build !race

package identity

import "unsafe"

//go:linkname asmcgocall runtime.asmcgocall
//go:noescape
func asmcgocall(fn, arg unsafe.Pointer) int32

//go:linkname entersyscallblock runtime.entersyscallblock
func entersyscallblock()

//go:linkname exitsyscall runtime.exitsyscall
func exitsyscall()

// CallHandingOver runs the C function fn(arg) like Call, but first gives the
// goroutine's P back to the runtime's idle list, where the next goroutine that
// leaves a C call finds it. On return the caller takes an idle P, or waits for
// one. It costs about two locked list operations more than Call, and it spares
// a goroutine that has no P to come back to (a fresh one, or one that left by
// CallHandingOver itself) the wait for the runtime's monitor thread, which
// takes 20 us at best and 200 us as a rule.
//
// The runtime does not count it as a cgo call, and shows it in stack traces as a
// system call. It must not be split: from the first call to the last the runtime
// takes the frame for the place where the goroutine entered a system call.
//
//go:nosplit
func CallHandingOver(fn, arg unsafe.Pointer) {
	entersyscallblock()
	asmcgocall(fn, arg)
	exitsyscall()
}
