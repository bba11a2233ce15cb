package fiberio

import (
	"errors"
	"runtime"
	"slices"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"fiberlab/sched/fibersync"
	"fiberlab/sched/park"
	"fiberlab/sched/uring"
)

// operations are those of files, which use them in turn.
var operations = sync.Pool{New: func() any { return new(uring.Operation) }}

// pipeRoom is PIPE_BUF: a pipe that poll(2) calls writable has room for that much.
const pipeRoom = 4096

// errNotByEngine is returned by operate for what the driver does not carry out.
var errNotByEngine = errors.New("the driver does not do this")

// operate carries out one operation by the caller's engine. If that has ended, and the operation has not been carried
// out, another engine is found.
func (f *File) operate(op uring.Entry) (uring.Completion, error) {
	for {
		e, err := f.engines.Here()
		if err != nil {
			return uring.Completion{}, err
		}
		if op.Op != uring.OpPoll && !e.Can(uring.RegularFiles) {
			return uring.Completion{}, errNotByEngine
		}
		a := operations.Get().(*uring.Operation)
		f.mu.Lock()
		f.underWay = append(f.underWay, a)
		f.mu.Unlock()
		c, err := a.Await(e, op, f)
		f.mu.Lock()
		i := slices.Index(f.underWay, a)
		f.underWay = slices.Delete(f.underWay, i, i+1)
		f.mu.Unlock()
		operations.Put(a)
		if !errors.Is(err, uring.ErrClosed) {
			return c, err
		}
	}
}

// transfer reads or writes once, at offset or at ownPosition, and returns as soon as a byte has been transferred;
// nothing has at the end of a file. The descriptor must be in use.
func (f *File) transfer(op uring.Op, p []byte, offset int64) (int, error) {
	p = p[:min(len(p), uring.MostAtOnce)]
	for {
		n, err := f.transferNow(op, p, offset)
		if err == syscall.EAGAIN {
			n, err = f.transferByEngine(op, p, offset)
		}
		switch err {
		case syscall.EINTR:
			continue
		case syscall.EAGAIN: // the descriptor has been made non-blocking
			if _, err := f.operate(uring.Entry{Op: uring.OpPoll, FD: int32(f.fd), Flags: op.Events()}); err != nil {
				return 0, err
			}
			continue
		}
		return n, err
	}
}

// transferNow transfers what can be transferred without waiting, by a system call, and returns EAGAIN if there is
// nothing. That saves a goroutine the way to an engine and back. Fibers go by their engine, which makes one system call
// for many of them, unless the driver leaves files to others.
func (f *File) transferNow(op uring.Op, p []byte, offset int64) (int, error) {
	if _, err := f.Ended(); err != nil {
		return 0, err
	}
	if park.Current() != nil {
		return 0, syscall.EAGAIN
	}
	if op == uring.OpWrite && f.kindOf() == kindDisk {
		return byCall(f.fd, op, p, offset)
	}
	return noWait(f.fd, op, p, offset)
}

// noWait is a system call that does not wait. It returns EAGAIN if it would, or if the file does not know such calls.
func noWait(fd int, op uring.Op, p []byte, offset int64) (n int, err error) {
	if op == uring.OpRead {
		n, err = unix.Preadv2(fd, [][]byte{p}, offset, unix.RWF_NOWAIT)
	} else {
		n, err = unix.Pwritev2(fd, [][]byte{p}, offset, unix.RWF_NOWAIT)
	}
	if err == nil && (n > 0 || op == uring.OpRead) {
		return n, nil
	}
	if err == syscall.EOPNOTSUPP || err == syscall.ENOSYS {
		err = syscall.EAGAIN
	}
	return 0, err
}

// byCall is one transfer by an ordinary system call.
func byCall(fd int, op uring.Op, p []byte, offset int64) (n int, err error) {
	switch {
	case op == uring.OpRead && offset == uring.OwnPosition:
		n, err = unix.Read(fd, p)
	case op == uring.OpRead:
		n, err = unix.Pread(fd, p, offset)
	case offset == uring.OwnPosition:
		n, err = unix.Write(fd, p)
	default:
		n, err = unix.Pwrite(fd, p, offset)
	}
	return max(n, 0), err
}

// transferByEngine waits for the transfer. Under a driver that leaves files to others it only waits, for streams, until
// the transfer need not.
func (f *File) transferByEngine(op uring.Op, p []byte, offset int64) (int, error) {
	var pin runtime.Pinner
	pin.Pin(&p[0])
	defer pin.Unpin()
	e := uring.Entry{Op: op, FD: int32(f.fd), Addr: uring.Address(p), Length: uint32(len(p)), Offset: uint64(offset)}
	c, err := f.operate(e)
	if err == errNotByEngine {
		return f.transferElsewhere(op, p, offset)
	}
	return c.Transferred(op, p, err)
}

// transferElsewhere transfers without an engine. A fiber leaves what may block to a goroutine.
func (f *File) transferElsewhere(op uring.Op, p []byte, offset int64) (n int, err error) {
	if f.kindOf() == kindStream {
		if n, err := noWait(f.fd, op, p, offset); err != syscall.EAGAIN {
			return n, err
		}
		if _, err := f.operate(uring.Entry{Op: uring.OpPoll, FD: int32(f.fd), Flags: op.Events()}); err != nil {
			return 0, err
		}
		if n, err := noWait(f.fd, op, p, offset); err != syscall.EAGAIN {
			return n, err
		}
		if op == uring.OpWrite {
			p = p[:min(len(p), pipeRoom)]
		}
	}
	err = blocking(func() (err error) {
		n, err = byCall(f.fd, op, p, offset)
		return err
	})
	return n, err
}

// blocking calls f, which may block its thread: if the caller is a fiber, on a goroutine.
func blocking(f func() error) error {
	_, err := fibersync.Call(func() (struct{}, error) { return struct{}{}, f() })
	return err
}

// ignoringEINTR calls f until a signal does not interrupt it.
func ignoringEINTR(f func() error) error {
	for {
		if err := f(); err != syscall.EINTR {
			return err
		}
	}
}
