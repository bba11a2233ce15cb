package idle

import (
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The operations of futex(2), on words that only this process uses.
const (
	futexWaitPrivate = 128 // FUTEX_WAIT with a relative timeout, by the monotonic clock
	futexWakePrivate = 129
)

// sleepOnThread blocks the worker's thread until futexWake, or until limit has passed; below 0 is no limit. It returns
// at once if the word is not OnThread any more, and may return for no reason. Sleep calls it after Commit.
//
// A brief sleep is an ordinary system call, and keeps its P, the right to run Go code. If the call takes long, the
// runtime's monitor takes the P away. While the monitor finds a P to take, it polls many thousand times a second. So a
// long sleep gives its P up at once: when all Ps are idle, the monitor sleeps too. A brief sleep does not, since giving
// up a P may wake a thread that takes it over.
func (w *Word) sleepOnThread(limit time.Duration) {
	var timeout *unix.Timespec
	if limit >= 0 {
		t := unix.NsecToTimespec(int64(limit))
		timeout = &t
	}
	if !w.spin.brief {
		sleepWithoutP(&w.state, uint32(OnThread), timeout)
		return
	}
	_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&w.state)), futexWaitPrivate, uintptr(OnThread),
		uintptr(unsafe.Pointer(timeout)), 0, 0)
}

// futexWake wakes one thread that sleeps on word. It does not block, so the runtime need not know of the system call.
func futexWake(word *atomic.Uint32) {
	_, _, _ = syscall.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWakePrivate, 1, 0, 0, 0)
}

// sleepWithoutP makes a FUTEX_WAIT. It gives the P up before, and gets one back afterwards. Its stack must not grow.
//
//go:nosplit
//go:norace
func sleepWithoutP(word *atomic.Uint32, value uint32, timeout *unix.Timespec) {
	entersyscallblock()
	_, _, _ = syscall.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWaitPrivate, uintptr(value),
		uintptr(unsafe.Pointer(timeout)), 0, 0)
	exitsyscall()
}

// The runtime keeps the next two functions stable for other programs: see go.dev/issue/67401.

// entersyscallblock gives the calling thread's P up.
//
//go:linkname entersyscallblock runtime.entersyscallblock
func entersyscallblock()

// exitsyscall gets a P for the calling thread, and may wait until one is free. It must be called by the function that
// called entersyscallblock.
//
//go:linkname exitsyscall runtime.exitsyscall
func exitsyscall()
