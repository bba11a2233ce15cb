package sched_test

import (
	"runtime"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// wakers are the two kinds of thread that bring work after a pause. One is what the Go runtime chose for a goroutine whose
// timer has fired; before it runs the goroutine, the runtime may wake another thread to look for more. The other one
// slept in the kernel, as a thread of a C program does, and wakes nothing but the worker. It keeps its P, the
// right to run Go code: to get one back after a system call may wake the runtime's monitor.
var wakers = []struct {
	name   string
	locked bool // the goroutine has its thread to itself
	pause  func(time.Duration)
}{
	{"goroutine", false, time.Sleep},
	{"thread", true, sleepInKernel},
}

// eachWaker runs run as a sub-benchmark waker=NAME for each kind of thread, on such a thread.
func eachWaker(b *testing.B, run func(b *testing.B, pause func(time.Duration))) {
	for _, w := range wakers {
		b.Run("waker="+w.name, func(b *testing.B) {
			if w.locked {
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
			}
			run(b, w.pause)
		})
	}
}

// sleepInKernel blocks the calling thread, and its P, for d.
func sleepInKernel(d time.Duration) {
	for left := unix.NsecToTimespec(int64(max(d, 0))); ; {
		at := uintptr(unsafe.Pointer(&left))
		if _, _, err := syscall.RawSyscall(unix.SYS_NANOSLEEP, at, at, 0); err != syscall.EINTR {
			return
		}
	}
}
