package stack

import (
	"sync"

	"golang.org/x/sys/unix"
)

// guardProbe is what tryGuard has found. Its lock is held while that runs.
var guardProbe struct {
	sync.Mutex
	over, works bool
}

// madviseGuards reports whether guards by MADV_GUARD_INSTALL work. It tries that out, until there are addresses
// to do so; without any the error is ErrExhausted.
func madviseGuards() (bool, error) {
	p := &guardProbe
	p.Lock()
	defer p.Unlock()
	if p.over {
		return p.works, nil
	}
	mem, err := mmap(2 * pageSize)
	if err != nil {
		return false, errAddresses(2*pageSize, err)
	}
	p.works, p.over = tryGuard(uintptr(mem)), true
	_ = unix.MunmapPtr(mem, 2*pageSize)
	return p.works, nil
}

// tryGuard reports whether a page marked by MADV_GUARD_INSTALL cannot be touched; guard is the first of two pages.
// The return value of the call is not enough: emulators take advice that they do not know for a hint and answer
// success.
func tryGuard(guard uintptr) bool {
	plain := guard + pageSize
	if readErrno(guard) != unix.EINVAL {
		return false
	}
	if madvise(guard, pageSize, madvGuardInstall) != nil {
		return false
	}
	return readErrno(guard) == unix.EFAULT && readErrno(plain) == unix.EINVAL
}

// readErrno has the kernel read 8 bytes at addr: EFAULT means that they cannot
// be read, EINVAL that they can. It calls rt_sigprocmask with an unknown operation,
// which the kernel refuses after it has read the new mask, so nothing changes.
func readErrno(addr uintptr) unix.Errno {
	const noSuchChange, maskSize = 0x7fffffff, 8
	_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGPROCMASK, noSuchChange, addr, 0, maskSize, 0, 0)
	return errno
}
