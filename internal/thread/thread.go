// Package thread changes the thread of the operating system that its caller runs on, and has it block. A caller that
// changes the thread must be locked to it (runtime.LockOSThread): other goroutines would find it changed.
package thread

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	_ "fiberlab/internal/platform"
)

// longestName is how many bytes the kernel keeps of a thread's name.
const longestName = 15

// SetName gives the calling thread a name, which debuggers, top and /proc show: name and suffix, with name cut so that
// the kernel keeps the suffix. If the kernel refuses, the thread keeps its present name.
func SetName(name, suffix string) {
	var text [longestName + 1]byte // ends with 0
	copy(text[:longestName], cut(name, suffix))
	_, _, _ = unix.RawSyscall(unix.SYS_PRCTL, unix.PR_SET_NAME, uintptr(unsafe.Pointer(&text)), 0)
}

// cut returns name and suffix, without the end of name if both are longer than longestName. It splits no character.
func cut(name, suffix string) string {
	most := min(len(name), max(longestName-len(suffix), 0))
	return strings.ToValidUTF8(name[:most], "") + suffix
}

// maxCPUs is how many CPUs a unix.CPUSet can name.
const maxCPUs = len(unix.CPUSet{}) * 64

// Restrict restricts the calling thread to these CPUs. It returns an error, and changes nothing, if a number is out of
// range, or if none of them is a CPU that is online and allowed to the process.
func Restrict(cpus []int) error {
	if len(cpus) == 0 || slices.Min(cpus) < 0 || slices.Max(cpus) >= maxCPUs {
		return fmt.Errorf("name one at least, by numbers from 0 to %d", maxCPUs-1)
	}
	var set unix.CPUSet
	for _, cpu := range cpus {
		set.Set(cpu)
	}
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("%w: use CPUs that are online and allowed to this process", err)
	}
	return nil
}

// SetTimerSlack sets how much later than asked the kernel may end a sleep of the calling thread. With 0 that is as much
// as when the thread began: 50 us, unless its maker had another slack. It returns the kernel's error.
func SetTimerSlack(d time.Duration) error {
	// It does not block. An ordinary system call would wake the runtime's monitor if that sleeps.
	if _, _, errno := unix.RawSyscall6(unix.SYS_PRCTL, unix.PR_SET_TIMERSLACK, uintptr(d), 0, 0, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// IsFirst reports whether the calling thread is the one that the process began with. That thread cannot end, and its
// name is the process's.
func IsFirst() bool { return unix.Gettid() == unix.Getpid() }

// Elsewhere starts f on a goroutine that is locked to another thread than the caller. It unlocks the caller from its
// thread once f has another one, and returns then.
func Elsewhere(f func()) {
	locked := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		close(locked)
		f()
	}()
	<-locked
	runtime.UnlockOSThread()
}

// CallWithoutP makes a system call that may block for long. It gives the calling thread's P, the right to run Go code,
// to other threads at once, and gets one back afterwards. An ordinary system call keeps its P until the runtime's
// monitor takes it away. An argument that is a pointer to Go memory must be converted to uintptr in the call itself.
//
//go:uintptrescapes
//go:nosplit
//go:norace
func CallWithoutP(trap, a, b, c, d, e, f uintptr) (uintptr, syscall.Errno) {
	entersyscallblock()
	n, _, errno := syscall.RawSyscall6(trap, a, b, c, d, e, f)
	exitsyscall()
	return n, errno
}

// The runtime keeps the next two functions stable for other programs: see go.dev/issue/67401.

// entersyscallblock gives the calling thread's P up. The stack must not grow until exitsyscall.
//
//go:linkname entersyscallblock runtime.entersyscallblock
func entersyscallblock()

// exitsyscall gets a P for the calling thread, and may wait until one is free. It must be called by the function that
// called entersyscallblock.
//
//go:linkname exitsyscall runtime.exitsyscall
func exitsyscall()
