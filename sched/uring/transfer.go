package uring

import (
	"io"
	"runtime"

	"golang.org/x/sys/unix"
)

// Read reads from a descriptor into p, at offset, or at the position that the kernel holds if that is below 0: perhaps
// less than p has room for. It returns io.EOF at the end, the error of the kernel, or ErrClosed. It blocks its caller,
// a fiber not its thread.
//
// For files on disks give an offset, or use a [File]: io_uring leaves the kernel's position where it was if it
// transfers a part, and the rest fails.
func (e *Engine) Read(fd int, p []byte, offset int64) (int, error) {
	n, err := e.transfer(opRead, fd, p, offset)
	if n == 0 && err == nil && len(p) > 0 {
		err = io.EOF
	}
	return n, err
}

// Write writes p to a descriptor as write(2) does, perhaps less than all of it. See Read for the rest.
func (e *Engine) Write(fd int, p []byte, offset int64) (int, error) {
	return e.transfer(opWrite, fd, p, offset)
}

func (e *Engine) transfer(op op, fd int, p []byte, offset int64) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if int(int32(fd)) != fd {
		return 0, unix.EBADF
	}
	p = p[:min(len(p), mostAtOnce)]
	var pin runtime.Pinner
	pin.Pin(&p[0])
	defer pin.Unpin()
	at := uint64(max(offset, ownPosition))
	c, err := e.doUntilReady(entry{op: op, fd: int32(fd), addr: address(p), length: uint32(len(p)), offset: at})
	return c.transferred(op, p, err)
}

// transferred is what a read or a write of p returns that has completed so, or has not been carried out because of err.
func (c completion) transferred(op op, p []byte, err error) (int, error) {
	if err == nil {
		err = c.err()
	}
	if err != nil {
		return 0, err
	}
	if op == opRead {
		wrote(p[:c.result])
	}
	return int(c.result), nil
}

// doUntilReady is do for a read or a write, which begins anew after a signal. Where the descriptor does not wait
// because it is not to block, doUntilReady does.
func (e *Engine) doUntilReady(op entry) (completion, error) {
	for {
		c, err := e.do(op)
		if err == nil && c.err() == unix.EAGAIN {
			c, err = e.do(entry{op: opPoll, fd: op.fd, flags: pollFor(op.op)})
			if err == nil && c.result >= 0 {
				continue
			}
		}
		if err != nil || c.err() != unix.EINTR {
			return c, err
		}
	}
}
