package uring

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// readable is what a request that takes something in waits for.
const readable = unix.EPOLLIN | unix.EPOLLPRI | unix.EPOLLRDHUP

// pipeBuf is PIPE_BUF: a pipe that poll(2) calls writable has room for that much.
const pipeBuf = 4096

// answers is memory for what system calls take and answer: on a stack, it might move before the call.
type answers struct {
	poll   unix.PollFd
	now    unix.Timespec
	status unix.Stat_t
}

// try carries out one request by system calls that do not block, and returns what the ring would have said; or what it
// has to wait for, as epoll(7) has it. Opening, syncing and all that is done to
// regular files waits for the disk.
func (e *epoll) try(op *Entry) (result int32, events uint32) {
	if op.How&(Multishot|Provided) != 0 {
		return -int32(syscall.EINVAL), 0
	}
	fd := uintptr(op.FD)
	switch op.Op {
	case OpNop:
		return 0, 0
	case OpRead:
		return unlessEarly(e.read(op), readable)
	case OpWrite:
		return unlessEarly(e.write(op), unix.EPOLLOUT)
	case OpOpen:
		return e.callLong(unix.SYS_OPENAT, fd, op.Addr, uintptr(op.Flags), uintptr(op.Offset)), 0
	case OpClose:
		return e.callLong(unix.SYS_CLOSE, fd, 0, 0, 0), 0
	case OpSync:
		return e.callLong(unix.SYS_FDATASYNC, fd, 0, 0, 0), 0
	case OpAccept:
		return unlessEarly(e.callNonBlocking(unix.SYS_ACCEPT4, fd, 0, 0, uintptr(op.Flags)), readable)
	case OpSend:
		return unlessEarly(e.send(op), unix.EPOLLOUT)
	case OpReceive:
		return unlessEarly(e.receive(op), readable)
	case OpPoll:
		return unlessEarly(e.poll(op.FD, op.Flags), op.Flags|unix.EPOLLERR)
	case OpCancel:
		return e.cancel(op.Offset), 0
	}
	return -int32(syscall.EINVAL), 0
}

// unlessEarly passes a result on, unless it says "not now".
func unlessEarly(result int32, events uint32) (int32, uint32) {
	if result == -int32(syscall.EAGAIN) {
		return 0, events
	}
	return result, 0
}

// call makes a system call that does not block. The result is -errno if it fails.
func (e *epoll) call(trap, a, b, c, d, f, g uintptr) int32 {
	for {
		e.count.Enters++
		result, _, errno := syscall.RawSyscall6(trap, a, b, c, d, f, g)
		if errno != syscall.EINTR {
			return resultOf(result, errno)
		}
	}
}

// callLong makes a system call that may wait for a disk; the thread's P is free meanwhile.
func (e *epoll) callLong(trap, a, b, c, d uintptr) int32 {
	for {
		e.count.Enters++
		result, _, errno := syscall.Syscall6(trap, a, b, c, d, 0, 0)
		if errno != syscall.EINTR || trap == unix.SYS_CLOSE { // which has closed it all the same
			return resultOf(result, errno)
		}
	}
}

func resultOf(result uintptr, errno syscall.Errno) int32 {
	if errno != 0 {
		return -int32(errno)
	}
	return int32(result)
}

// callNonBlocking makes a system call that blocks unless the file says otherwise. A file that does not is told so for
// the call: others that use it meanwhile may meet EAGAIN.
func (e *epoll) callNonBlocking(trap, fd, a, b, c uintptr) int32 {
	flags := e.call(unix.SYS_FCNTL, fd, unix.F_GETFL, 0, 0, 0, 0)
	if flags < 0 || flags&unix.O_NONBLOCK != 0 {
		return e.call(trap, fd, a, b, c, 0, 0)
	}
	e.call(unix.SYS_FCNTL, fd, unix.F_SETFL, uintptr(flags|unix.O_NONBLOCK), 0, 0, 0)
	result := e.call(trap, fd, a, b, c, 0, 0)
	e.call(unix.SYS_FCNTL, fd, unix.F_SETFL, uintptr(flags), 0, 0, 0)
	return result
}

func (e *epoll) send(op *Entry) int32 {
	return e.call(
		unix.SYS_SENDTO, uintptr(op.FD), op.Addr, uintptr(op.Length),
		uintptr(op.Flags|unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL), 0, 0,
	)
}

func (e *epoll) receive(op *Entry) int32 {
	return e.call(
		unix.SYS_RECVFROM, uintptr(op.FD), op.Addr, uintptr(op.Length), uintptr(op.Flags|unix.MSG_DONTWAIT), 0, 0,
	)
}

// poll returns which of the events, or of the events that are always told, the descriptor has; or -EAGAIN.
func (e *epoll) poll(fd int32, events uint32) int32 {
	a := e.answers
	a.poll, a.now = unix.PollFd{Fd: fd, Events: int16(events)}, unix.Timespec{}
	result := e.call(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&a.poll)), 1, uintptr(unsafe.Pointer(&a.now)), 0, 0, 0)
	switch {
	case result < 0:
		return result
	case a.poll.Revents&unix.POLLNVAL != 0:
		return -int32(syscall.EBADF)
	case result == 0:
		return -int32(syscall.EAGAIN)
	}
	return int32(uint16(a.poll.Revents))
}

// read is a read at the offset, or at the file's own position where there is no other.
func (e *epoll) read(op *Entry) int32 {
	switch kind := e.kindOf(op.FD, unix.O_WRONLY); {
	case kind < 0:
		return kind
	case kind == unix.S_IFSOCK:
		plain := *op
		plain.Flags = 0
		return e.receive(&plain)
	case kind == mayBlock:
		if result := e.poll(op.FD, unix.POLLIN); result < 0 {
			return result
		}
	}
	return e.transfer(op, op.Length, unix.SYS_READ, unix.SYS_PREAD64)
}

// write is a write, see read. What is written to a pipe that may block is no more than has room.
func (e *epoll) write(op *Entry) int32 {
	length := op.Length
	switch kind := e.kindOf(op.FD, unix.O_RDONLY); {
	case kind < 0:
		return kind
	case kind == unix.S_IFSOCK:
		plain := *op
		plain.Flags = 0
		return e.send(&plain)
	case kind == mayBlock:
		if result := e.poll(op.FD, unix.POLLOUT); result < 0 {
			return result
		}
		length = min(length, pipeBuf)
	}
	return e.transfer(op, length, unix.SYS_WRITE, unix.SYS_PWRITE64)
}

func (e *epoll) transfer(op *Entry, length uint32, own, at uintptr) int32 {
	fd, size := uintptr(op.FD), uintptr(length)
	if int64(op.Offset) != OwnPosition {
		if result := e.callLong(at, fd, op.Addr, size, uintptr(op.Offset)); result != -int32(syscall.ESPIPE) {
			return result
		}
	}
	return e.callLong(own, fd, op.Addr, size, 0)
}

// mayBlock is the kind of pipes, terminals and the like that are not said to be non-blocking. A system call on one may
// wait for others: for as long as they like, if some program takes what poll(2) has seen.
const mayBlock = unix.S_IFIFO

// kindOf returns how a descriptor is to be read and written: as S_IFSOCK, mayBlock, or just so (0); or -errno. A
// descriptor that was opened for unfit alone, O_RDONLY or O_WRONLY, would never be ready.
func (e *epoll) kindOf(fd int32, unfit int32) int32 {
	flags := e.call(unix.SYS_FCNTL, uintptr(fd), unix.F_GETFL, 0, 0, 0, 0)
	switch {
	case flags < 0:
		return flags
	case flags&unix.O_ACCMODE == unfit:
		return -int32(syscall.EBADF)
	case flags&unix.O_NONBLOCK != 0:
		return 0
	}
	status := &e.answers.status
	if result := e.call(unix.SYS_FSTAT, uintptr(fd), uintptr(unsafe.Pointer(status)), 0, 0, 0, 0); result < 0 {
		return result
	}
	switch status.Mode & unix.S_IFMT {
	case unix.S_IFREG, unix.S_IFDIR, unix.S_IFBLK:
		return 0
	case unix.S_IFSOCK:
		return unix.S_IFSOCK
	}
	return mayBlock
}
