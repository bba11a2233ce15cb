package uring

import (
	"context"
	"io/fs"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/sched/park"
)

// openMode is the permissions of open(2) for perm.
func openMode(perm fs.FileMode) uint32 {
	mode := uint32(perm.Perm())
	if perm&fs.ModeSetuid != 0 {
		mode |= unix.S_ISUID
	}
	if perm&fs.ModeSetgid != 0 {
		mode |= unix.S_ISGID
	}
	if perm&fs.ModeSticky != 0 {
		mode |= unix.S_ISVTX
	}
	return mode
}

// openDescriptor opens name, and returns the kernel's error, context.Cause(ctx), sched.ErrNilContext, or what Here
// returns.
func (s *Engines) openDescriptor(ctx context.Context, name string, flag int, perm fs.FileMode) (int, error) {
	if ctx == nil {
		return -1, sched.ErrNilContext
	}
	if ctx.Err() != nil {
		return -1, context.Cause(ctx)
	}
	flag |= unix.O_CLOEXEC
	cname, err := unix.ByteSliceFromString(name)
	if err != nil {
		return -1, err
	}
	e, err := s.Here()
	if err != nil {
		return -1, err
	}
	if !e.engine.can(regularFiles) {
		return openElsewhere(ctx, name, flag, openMode(perm))
	}
	var pin runtime.Pinner
	pin.Pin(&cname[0])
	defer pin.Unpin()
	op := entry{op: opOpen, fd: unix.AT_FDCWD, addr: address(cname), flags: uint32(flag), offset: uint64(openMode(perm))}
	for {
		c, err := e.doContext(ctx, op)
		if err == nil {
			err = c.err()
		}
		switch {
		case err == syscall.EINTR || err == syscall.EAGAIN:
			continue
		case err == syscall.ENXIO && flag&unix.O_NONBLOCK == 0 && op.how&waiting == 0: // a pipe without a reader, most likely
			op.how |= waiting
			continue
		case err != nil:
			return -1, err
		}
		return int(c.result), nil
	}
}

// openElsewhere opens a file without an engine. If ctx can end, that may be while the call is still blocked: then what
// it opens later is closed. A call that has not begun by then does not begin.
func openElsewhere(ctx context.Context, name string, flag int, mode uint32) (int, error) {
	open := func() (fd int, err error) {
		err = ignoringEINTR(func() (err error) {
			fd, err = unix.Open(name, flag, mode)
			return err
		})
		return fd, err
	}
	if ctx.Done() == nil {
		return fibersync.Call(open)
	}
	var mu sync.Mutex
	var late bool
	opened := -1
	isLate := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return late
	}
	_, err := fibersync.CallContext(ctx, func() (int, error) {
		if isLate() {
			return -1, nil
		}
		fd, err := open()
		mu.Lock()
		defer mu.Unlock()
		if late && err == nil {
			_ = unix.Close(fd)
			return -1, nil
		}
		opened = fd
		return fd, err
	})
	mu.Lock()
	defer mu.Unlock()
	late = true
	if err != nil && opened >= 0 { // it was quicker than its end
		_ = unix.Close(opened)
		opened = -1
	}
	return opened, err
}

// closeDescriptor closes a descriptor that is not in use. A fiber leaves it to its engine, with the next batch: the
// call may block.
func (s *Engines) closeDescriptor(fd int) error {
	if park.Current() != nil {
		if e, err := s.Here(); err == nil && e.engine.can(regularFiles) {
			if c, err := e.do(entry{op: opClose, fd: int32(fd)}); err == nil {
				return c.err()
			}
		}
	}
	return unix.Close(fd)
}
