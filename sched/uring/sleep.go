package uring

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What both proxies need to wait, and to be woken.

// writeEvent adds one to the count of an eventfd. It fails only after 2^64 - 2 calls.
func writeEvent(event int) {
	one := uint64(1)
	_, _, _ = syscall.RawSyscall(unix.SYS_WRITE, uintptr(event), uintptr(unsafe.Pointer(&one)), 8)
}

// callWithoutP gives the thread's P up, makes a system call that waits, and gets a P back. The stack must not grow
// meanwhile.
//
//go:nosplit
//go:norace
func callWithoutP(trap, a, b, c, d, f, g uintptr) (uintptr, syscall.Errno) {
	entersyscallblock()
	n, _, errno := syscall.RawSyscall6(trap, a, b, c, d, f, g)
	exitsyscall()
	return n, errno
}

// Both are kept stable for other programs by the runtime, see go.dev/issue/67401.

// entersyscallblock gives the calling thread's P up.
//
//go:linkname entersyscallblock runtime.entersyscallblock
func entersyscallblock()

// exitsyscall gets one back. It must be called by the function that called
// entersyscallblock, and may wait until there is one.
//
//go:linkname exitsyscall runtime.exitsyscall
func exitsyscall()
