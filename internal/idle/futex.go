package idle

import (
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"fiberlab/internal/thread"
)

// The operations of futex(2), on words that only this process uses.
const (
	futexWaitPrivate = 128 // FUTEX_WAIT with a relative timeout, by the monotonic clock
	futexWakePrivate = 129
)

// sleepOnThread blocks the worker's thread until futexWake, or until limit has passed; below 0 is no limit. It returns
// at once if the word is not OnThread any more, and may return for no reason. Sleep calls it after Commit.
//
// A sleep that is expected to be brief is an ordinary system call, and keeps its P, the right to run Go code. If it
// takes long, the runtime's monitor takes the P away. While the monitor finds a P to take, it polls many thousand times
// a second. So any other sleep gives its P up at once: when all Ps are idle, the monitor sleeps too. A brief sleep does
// not, since giving up a P may wake a thread that takes it over.
func (w *Word) sleepOnThread(limit time.Duration) {
	var timeout unsafe.Pointer
	if limit >= 0 {
		w.timeout = unix.NsecToTimespec(int64(limit))
		timeout = unsafe.Pointer(&w.timeout)
	}
	if w.spin.brief {
		_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&w.state)), futexWaitPrivate, uintptr(OnThread),
			uintptr(timeout), 0, 0)
		return
	}
	_, _ = thread.CallWithoutP(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&w.state)), futexWaitPrivate, uintptr(OnThread),
		uintptr(timeout), 0, 0)
}

// futexWake wakes one thread that sleeps on word. It does not block, so the runtime need not know of the system call.
func futexWake(word *atomic.Uint32) {
	_, _, _ = syscall.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWakePrivate, 1, 0, 0, 0)
}
