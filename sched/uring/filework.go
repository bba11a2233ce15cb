package uring

import (
	"errors"
	"runtime"
	"slices"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"fiberlab/sched/fibersync"
	"fiberlab/sched/park"
)

// errNotByEngine is returned by operate for what the driver does not carry out.
var errNotByEngine = errors.New("the driver does not do this")

// operate carries out one operation by the caller's engine. If that has ended, and the operation has not been carried
// out, another engine is found.
func (f *File) operate(op entry) (completion, error) {
	for {
		e, err := f.engines.Here()
		if err != nil {
			return completion{}, err
		}
		if op.op != opPoll && !e.engine.can(regularFiles) {
			return completion{}, errNotByEngine
		}
		a := spare.Get().(*awaited)
		f.mu.Lock()
		f.underWay = append(f.underWay, a)
		f.mu.Unlock()
		c, err := a.await(e, op, f)
		f.mu.Lock()
		i := slices.Index(f.underWay, a)
		f.underWay = slices.Delete(f.underWay, i, i+1)
		f.mu.Unlock()
		spare.Put(a)
		if !errors.Is(err, ErrClosed) {
			return c, err
		}
	}
}

// transfer reads or writes once, at offset or at ownPosition, and returns as soon as a byte has been transferred;
// nothing has at the end of a file. The descriptor must be in use.
func (f *File) transfer(op op, p []byte, offset int64) (int, error) {
	p = p[:min(len(p), mostAtOnce)]
	for {
		n, err := f.transferNow(op, p, offset)
		if err == syscall.EAGAIN {
			n, err = f.transferByEngine(op, p, offset)
		}
		switch err {
		case syscall.EINTR:
			continue
		case syscall.EAGAIN: // the descriptor has been made non-blocking
			if _, err := f.operate(entry{op: opPoll, fd: int32(f.fd), flags: pollFor(op)}); err != nil {
				return 0, err
			}
			continue
		}
		return n, err
	}
}

func pollFor(op op) uint32 {
	if op == opRead {
		return unix.POLLIN
	}
	return unix.POLLOUT
}

// transferNow transfers what can be transferred without waiting, by a system call, and returns EAGAIN if there is
// nothing. That saves a goroutine the way to an engine and back. Fibers go by their engine, which makes one system call
// for many of them, unless the driver leaves files to others.
func (f *File) transferNow(op op, p []byte, offset int64) (int, error) {
	if _, err := f.ended(); err != nil {
		return 0, err
	}
	if park.Current() != nil {
		return 0, syscall.EAGAIN
	}
	if op == opWrite && f.kindOf() == kindDisk {
		return byCall(f.fd, op, p, offset)
	}
	return noWait(f.fd, op, p, offset)
}

// noWait is a system call that does not wait. It returns EAGAIN if it would, or if the file does not know such calls.
func noWait(fd int, op op, p []byte, offset int64) (n int, err error) {
	if op == opRead {
		n, err = unix.Preadv2(fd, [][]byte{p}, offset, unix.RWF_NOWAIT)
	} else {
		n, err = unix.Pwritev2(fd, [][]byte{p}, offset, unix.RWF_NOWAIT)
	}
	if err == nil && (n > 0 || op == opRead) {
		return n, nil
	}
	if err == syscall.EOPNOTSUPP || err == syscall.ENOSYS {
		err = syscall.EAGAIN
	}
	return 0, err
}

// byCall is one transfer by an ordinary system call.
func byCall(fd int, op op, p []byte, offset int64) (n int, err error) {
	switch {
	case op == opRead && offset == ownPosition:
		n, err = unix.Read(fd, p)
	case op == opRead:
		n, err = unix.Pread(fd, p, offset)
	case offset == ownPosition:
		n, err = unix.Write(fd, p)
	default:
		n, err = unix.Pwrite(fd, p, offset)
	}
	return max(n, 0), err
}

// transferByEngine waits for the transfer. Under a driver that leaves files to others it only waits, for streams, until
// the transfer need not.
func (f *File) transferByEngine(op op, p []byte, offset int64) (int, error) {
	if f.shared && f.kindOf() == kindDisk { // the kernel holds its position, and moves it as it should by a system call
		return f.transferElsewhere(op, p, offset)
	}
	var pin runtime.Pinner
	pin.Pin(&p[0])
	defer pin.Unpin()
	e := entry{op: op, fd: int32(f.fd), addr: address(p), length: uint32(len(p)), offset: uint64(offset)}
	c, err := f.operate(e)
	if err == errNotByEngine {
		return f.transferElsewhere(op, p, offset)
	}
	return c.transferred(op, p, err)
}

// address is where the bytes of p are, which must stay there.
func address(p []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(p))) }

// transferElsewhere transfers without an engine. A fiber leaves what may block to a goroutine.
func (f *File) transferElsewhere(op op, p []byte, offset int64) (n int, err error) {
	if f.kindOf() == kindStream {
		if n, err := noWait(f.fd, op, p, offset); err != syscall.EAGAIN {
			return n, err
		}
		if _, err := f.operate(entry{op: opPoll, fd: int32(f.fd), flags: pollFor(op)}); err != nil {
			return 0, err
		}
		if n, err := noWait(f.fd, op, p, offset); err != syscall.EAGAIN {
			return n, err
		}
		if op == opWrite {
			p = p[:min(len(p), pipeBuf)]
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
