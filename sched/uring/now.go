package uring

import (
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// tryNow makes the system call recvfrom or sendto, with p, which is not empty. It does not block: then the error is
// EAGAIN. The thread keeps its P, so p should not be so long that other goroutines miss that.
func tryNow(trap uintptr, socket int, p []byte) (int, error) {
	for {
		at, length := uintptr(unsafe.Pointer(&p[0])), uintptr(len(p))
		n, _, errno := syscall.RawSyscall6(trap, uintptr(socket), at, length, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, 0, 0)
		if errno != unix.EINTR {
			return movedNow(n, errno)
		}
	}
}

// movedNow is what a system call returns that has transferred n bytes, or has failed.
func movedNow(n uintptr, errno syscall.Errno) (int, error) {
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// systemCall adds the name of a system call to its error; other errors it leaves alone.
func systemCall(name string, err error) error {
	if errno, ok := err.(syscall.Errno); ok {
		return os.NewSyscallError(name, errno)
	}
	return err
}
