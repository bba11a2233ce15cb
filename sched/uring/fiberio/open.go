package fiberio

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"runtime"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/sched/park"
	"fiberlab/sched/uring"
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
func openDescriptor(ctx context.Context, s *uring.Engines, name string, flag int, perm fs.FileMode) (int, error) {
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
		if e.Can(uring.RegularFiles) {
			fd, err = openByEngine(ctx, e, cname, flag, openMode(perm))
		} else {
			fd, err = openByCall(ctx, s, name, flag, openMode(perm))
		}
		if errors.Is(err, uring.ErrClosed) && ctx.Err() == nil { // the engine has ended, and has opened nothing
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

// openByEngine opens a file by the engine.
func openByEngine(ctx context.Context, e *uring.Engine, name []byte, flag int, mode uint32) (int, error) {
	var pin runtime.Pinner
	pin.Pin(&name[0])
	defer pin.Unpin()
	op := uring.Entry{
		Op: uring.OpOpen, FD: unix.AT_FDCWD, Addr: uring.Address(name), Flags: uint32(flag), Offset: uint64(mode),
	}
	for {
		c, err := e.DoContext(ctx, op)
		if err == nil {
			err = c.Err()
		}
		switch {
		case err == syscall.EINTR || err == syscall.EAGAIN:
			continue
		// most likely a pipe without a reader
		case err == syscall.ENXIO && flag&unix.O_NONBLOCK == 0 && op.How&uring.Waiting == 0:
			op.How |= uring.Waiting
			continue
		case err != nil:
			return -1, err
		}
		return int(c.Result), nil
	}
}

// errNoReader is returned by openPipe: an open for writing would wait.
var errNoReader = errors.New("the pipe has no reader")

// pipeLooksApart is how long openByCall waits before it looks again whether a pipe has a reader.
const pipeLooksApart = 5 * time.Millisecond

// openByCall opens a file without an engine. A system call that waits for the other end of a named pipe could not be
// ended: so there is none. A pipe is opened for reading at once, as by an io_uring, and the first read waits for a
// writer. To be opened for writing, it must have a reader: for that only repeated looks can wait.
func openByCall(ctx context.Context, s *uring.Engines, name string, flag int, mode uint32) (int, error) {
	for {
		fd, err := openElsewhere(ctx, name, flag, mode)
		if err != errNoReader {
			return fd, err
		}
		if _, err := s.Here(); err != nil { // as for one that an engine opens
			return -1, err
		}
		if _, err := fibersync.CallContext(ctx, func() (struct{}, error) {
			time.Sleep(pipeLooksApart)
			return struct{}{}, nil
		}); err != nil {
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
	const pending, late = -1, -2
	var opened atomic.Int64 // pending, late once the caller has given up, or the descriptor
	opened.Store(pending)
	_, err := fibersync.CallContext(ctx, func() (int, error) {
		if opened.Load() == late {
			return -1, nil
		}
		fd, err := open()
		if err == nil && !opened.CompareAndSwap(pending, int64(fd)) {
			_ = unix.Close(fd)
		}
		return fd, err
	})
	fd := int(opened.Swap(late))
	if err != nil && fd >= 0 { // it was quicker than its end
		_ = unix.Close(fd)
	}
	return fd, err
}

// closeDescriptor closes a descriptor that is not in use. A fiber leaves it to its engine, with the next batch: the
// call may block.
func closeDescriptor(s *uring.Engines, fd int) error {
	if park.Current() != nil {
		if e, err := s.Here(); err == nil && e.Can(uring.RegularFiles) {
			if c, err := e.Do(uring.Entry{Op: uring.OpClose, FD: int32(fd)}); err == nil {
				return c.Err()
			}
		}
	}
	return unix.Close(fd)
}

// ReadFile returns the contents of a file, as os.ReadFile does. It blocks its caller, a fiber not its thread. It
// returns the errors of OpenFile. A file on a disk is read into memory of its size.
func ReadFile(ctx context.Context, s *uring.Engines, name string) ([]byte, error) {
	if ctx == nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: sched.ErrNilContext}
	}
	if err := ctx.Err(); err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: context.Cause(ctx)}
	}
	f, err := Open(ctx, s, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if ctx.Done() != nil {
		defer context.AfterFunc(ctx, func() { _ = f.Close() })()
	}
	data, err := f.readAll()
	if errors.Is(err, fs.ErrClosed) {
		err = f.failed("read", context.Cause(ctx))
	}
	return data, err
}

// readAll reads the file to its end, into memory of the file's size if that is known. It does not believe a size beyond
// mostAtOnce before it has found half of that.
func (f *File) readAll() ([]byte, error) {
	size := int64(0) // not known
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		size = info.Size()
	}
	data := make([]byte, 0, max(512, min(size, uring.MostAtOnce)+1)) // one more byte finds the end
	for {
		n, err := f.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if err == io.EOF {
			return data, nil
		}
		if err != nil {
			return data, err
		}
		if len(data) == cap(data) {
			more := len(data)
			if left := size + 1 - int64(len(data)); left > 0 {
				more = int(min(left, int64(more)))
			}
			data = slices.Grow(data, more)
		}
	}
}
