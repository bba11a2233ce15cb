package sched

import (
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The operations of futex(2), on words that only this process uses.
const (
	futexWait    = 0 | futexPrivate // FUTEX_WAIT with a relative timeout, by the monotonic clock
	futexWake    = 1 | futexPrivate
	futexPrivate = 128
)

// futexSleep blocks the calling thread while word holds value, until futexWakeOne is called
// for it or limit has passed; a negative limit is none. It may also return for no reason.
// brief says that it will not be for long.
//
// An ordinary system call, right for a brief sleep, leaves its P, the right to run Go code,
// where it was, and the runtime's monitor fetches it if it takes long. As long as the monitor
// finds any to fetch it polls many thousand times a second, and a worker that is fed
// now and then keeps it at that. So a long sleep gives its P up: that is idle at once, and
// once all are the monitor sleeps too. But giving up may wake a thread to take it over.
func futexSleep(word *atomic.Uint32, value uint32, limit time.Duration, brief bool) {
	var timeout *unix.Timespec
	if limit >= 0 {
		t := unix.NsecToTimespec(int64(limit))
		timeout = &t
	}
	if !brief {
		sleepWithoutP(word, value, timeout)
		return
	}
	_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWait, uintptr(value),
		uintptr(unsafe.Pointer(timeout)), 0, 0)
}

// futexWakeOne wakes one thread that sleeps on word. It does not block, so the runtime need not
// know of the system call.
func futexWakeOne(word *atomic.Uint32) {
	_, _, _ = syscall.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWake, 1, 0, 0, 0)
}

// sleepWithoutP gives the P up, makes the system call and gets a P back. The stack must not
// grow meanwhile.
//
//go:nosplit
//go:norace
func sleepWithoutP(word *atomic.Uint32, value uint32, timeout *unix.Timespec) {
	entersyscallblock()
	_, _, _ = syscall.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWait, uintptr(value),
		uintptr(unsafe.Pointer(timeout)), 0, 0)
	exitsyscall()
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
