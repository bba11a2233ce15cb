package stack

import (
	"sync"

	"golang.org/x/sys/unix"
)

// madviseGuards reports whether a page marked by MADV_GUARD_INSTALL cannot be
// touched. The return value of the call is not enough: emulators take advice that
// they do not know for a hint and answer success. So it is tried out, once.
var madviseGuards = sync.OnceValue(func() bool {
	mem, err := unix.MmapPtr(
		-1, 0, nil, 2*pageSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS,
	)
	if err != nil {
		return false
	}
	defer func() { _ = unix.MunmapPtr(mem, 2*pageSize) }()

	guard, plain := uintptr(mem), uintptr(mem)+pageSize
	if readErrno(guard) != unix.EINVAL {
		return false
	}
	if madvise(guard, pageSize, madvGuardInstall) != nil {
		return false
	}
	return readErrno(guard) == unix.EFAULT && readErrno(plain) == unix.EINVAL
})

// readErrno has the kernel read 8 bytes at addr: EFAULT means that they cannot
// be read, EINVAL that they can. It calls rt_sigprocmask with an unknown operation,
// which the kernel refuses after it has read the new mask, so nothing changes.
func readErrno(addr uintptr) unix.Errno {
	const noSuchChange, maskSize = 0x7fffffff, 8
	_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGPROCMASK, noSuchChange, addr, 0, maskSize, 0, 0)
	return errno
}
