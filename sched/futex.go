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

// futexSleep blocks the calling thread while word holds value, until futexRouse is called
// for it or limit has passed; a negative limit is none. It may also return for no reason.
func futexSleep(word *atomic.Uint32, value uint32, limit time.Duration) {
	var timeout *unix.Timespec
	if limit >= 0 {
		t := unix.NsecToTimespec(int64(limit))
		timeout = &t
	}
	blockOn(word, value, timeout)
}

// futexRouse wakes one thread that sleeps on word. It does not block, so the runtime need not
// know of the system call.
func futexRouse(word *atomic.Uint32) {
	_, _, _ = syscall.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWake, 1, 0, 0, 0)
}

// blockOn is the system call of futexSleep, made without a P, the right to run Go code. An
// ordinary system call leaves its P where it was, for others to fetch if it takes long. The
// runtime's monitor looks after such Ps; it polls many thousand times a second as
// long as it finds any to fetch, and a worker that is fed now and then keeps it at that. A P
// that was given up is idle at once, and once all are the monitor sleeps too.
//
// Between the two calls the stack must not grow.
//
//go:nosplit
//go:norace
func blockOn(word *atomic.Uint32, value uint32, timeout *unix.Timespec) {
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
