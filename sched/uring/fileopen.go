package uring

import (
	"context"
	"errors"
	"io/fs"
	"runtime"
	"sync"
	"syscall"
	"time"

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
	for {
		e, err := s.Here()
		if err != nil {
			return -1, err
		}
		fd := -1
		if e.engine.can(regularFiles) {
			fd, err = e.open(ctx, cname, flag, openMode(perm))
		} else {
			fd, err = e.openByCall(ctx, name, flag, openMode(perm))
		}
		if errors.Is(err, ErrClosed) && ctx.Err() == nil { // the engine has ended, and has opened nothing
			continue
		}
		if err == nil && flag&unix.O_NONBLOCK != 0 {
			waitForDisk(fd, flag)
		}
		return fd, err
	}
}

// waitForDisk has reads of a regular file wait for the disk that was opened with O_NONBLOCK, as read(2) does. An
// io_uring would let them fail on some file systems.
func waitForDisk(fd, flag int) {
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err == nil && stat.Mode&unix.S_IFMT == unix.S_IFREG {
		clearNonBlock(fd, flag)
	}
}

// clearNonBlock removes O_NONBLOCK from a descriptor that was opened with the flags of flag.
func clearNonBlock(fd, flag int) {
	_, _ = unix.FcntlInt(uintptr(fd), unix.F_SETFL, flag&^unix.O_NONBLOCK) // it cannot fail
}

// open opens a file by the engine.
func (e *Engine) open(ctx context.Context, name []byte, flag int, mode uint32) (int, error) {
	var pin runtime.Pinner
	pin.Pin(&name[0])
	defer pin.Unpin()
	op := entry{op: opOpen, fd: unix.AT_FDCWD, addr: address(name), flags: uint32(flag), offset: uint64(mode)}
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

// errNoReader is returned by openPipe: an open for writing would wait.
var errNoReader = errors.New("the pipe has no reader")

// pipeLooksApart is how long openByCall waits before it looks again whether a pipe has a reader.
const pipeLooksApart = 5 * time.Millisecond

// openByCall opens a file without an engine. A system call that waits for the other end of a named pipe could not be
// ended: so there is none. A pipe is opened for reading at once, as by an io_uring, and the first read waits for a
// writer. To be opened for writing, it must have a reader: for that only repeated looks can wait.
func (e *Engine) openByCall(ctx context.Context, name string, flag int, mode uint32) (int, error) {
	for {
		fd, err := openElsewhere(ctx, name, flag, mode)
		if err != errNoReader {
			return fd, err
		}
		if _, err := e.doContext(ctx, entry{op: opTimeout, offset: uint64(pipeLooksApart)}); err != nil {
			return -1, err
		}
	}
}

// openPipe opens name if that is a named pipe now, without waiting for its other end. It reports whether it is.
func openPipe(name string, flag int, mode uint32) (fd int, err error, is bool) {
	var stat unix.Stat_t
	if flag&unix.O_NONBLOCK != 0 || unix.Stat(name, &stat) != nil || stat.Mode&unix.S_IFMT != unix.S_IFIFO {
		return -1, nil, false
	}
	switch fd, err = unix.Open(name, flag|unix.O_NONBLOCK, mode); err {
	case nil:
		clearNonBlock(fd, flag)
	case unix.ENXIO:
		err = errNoReader
	}
	return fd, err, true
}

// openElsewhere opens a file without an engine, or returns errNoReader. If ctx can end, that may be while the call is
// still blocked, by a slow disk: then what it opens later is closed. A call that has not begun by then does not begin.
func openElsewhere(ctx context.Context, name string, flag int, mode uint32) (int, error) {
	open := func() (fd int, err error) {
		if fd, err, is := openPipe(name, flag, mode); is {
			return fd, err
		}
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
