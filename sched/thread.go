package sched

import (
	"fmt"
	"runtime"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// longestThreadName is how many bytes the kernel keeps of a thread's name.
const longestThreadName = 15

// threadName is the name of a worker's thread: the scheduler's name, cut so that the worker's number fits.
func threadName(scheduler string, worker int) string {
	suffix := fmt.Sprintf("-w%d", worker)
	most := min(len(scheduler), max(longestThreadName-len(suffix), 0))
	return strings.ToValidUTF8(scheduler[:most], "") + suffix
}

// nameThread gives the calling thread a name, which debuggers, top and /proc show. If the kernel
// refuses, the thread keeps its present one.
func nameThread(name string) {
	var text [longestThreadName + 1]byte // ends with 0
	copy(text[:longestThreadName], name)
	_, _, _ = unix.RawSyscall(unix.SYS_PRCTL, unix.PR_SET_NAME, uintptr(unsafe.Pointer(&text)), 0)
}

// onFirstThread tells whether the caller is on the thread that the process began with.
func onFirstThread() bool { return unix.Gettid() == unix.Getpid() }

// elsewhere starts f on a goroutine that is locked to another thread than the caller's, which
// must be locked to its own, and unlocks the caller once that is certain.
func elsewhere(f func()) {
	locked := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		close(locked)
		f()
	}()
	<-locked
	runtime.UnlockOSThread()
}
