package sched_test

import (
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// wakers are the two kinds of thread that bring work after a pause. One is what the Go runtime chose for a goroutine
// whose timer has fired; before it runs the goroutine, the runtime may wake another thread to look for more. The other
// one slept in the kernel, as a thread of a C program does, and wakes nothing but the worker. It keeps its P, the right
// to run Go code: to get one back after a system call may wake the runtime's monitor.
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
		_, _, err := syscall.RawSyscall(
			unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&left)), uintptr(unsafe.Pointer(&left)), 0,
		)
		if err != syscall.EINTR {
			return
		}
	}
}

// kernelFlag is what a thread waits for in the kernel, and keeps its P. The zero value is down.
type kernelFlag struct{ word atomic.Uint32 }

// The operations of futex(2), on words that only this process uses.
const (
	futexWait = 128
	futexWake = 129
)

// raise ends the wait.
func (f *kernelFlag) raise() {
	f.word.Store(1)
	_, _, _ = syscall.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&f.word)), futexWake, 1, 0, 0, 0)
}

// longestWait is how long the flag may keep others from the P. It is longer than a tick of the kernel, which is due
// anyway: a timer that is due first would have to be set in the processor, too.
const longestWait = 20 * time.Millisecond

// wait blocks the calling thread until the flag is raised, and takes it down. Only one goroutine may call it. At times
// it lets others have the P, in case the thread that is to raise the flag waits for that, or the collector has to stop
// the world.
func (f *kernelFlag) wait() {
	for {
		limit := unix.NsecToTimespec(int64(longestWait))
		_, _, _ = syscall.RawSyscall6(
			unix.SYS_FUTEX, uintptr(unsafe.Pointer(&f.word)), futexWait, 0, uintptr(unsafe.Pointer(&limit)), 0, 0,
		)
		if f.word.Swap(0) != 0 {
			return
		}
		runtime.Gosched()
	}
}
