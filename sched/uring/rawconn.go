package uring

import (
	"syscall"
)

// rawConn lends the descriptor of a Conn or a Listener.
type rawConn struct {
	d      *descriptor
	failed func(op string, err error) error
	inbox  *inbox // of a Conn
}

// SyscallConn implements syscall.Conn. See syscall.RawConn: the functions that its methods call must not block, and
// Read and Write call them again and again while they return false, each time when the descriptor can be read or
// written. Bytes that have come before the first call of Read there are for Conn.Read.
func (c *Conn) SyscallConn() (syscall.RawConn, error) {
	if !c.ok() {
		return nil, syscall.EINVAL
	}
	return rawConn{&c.d, c.failed, c.inbox}, nil
}

// SyscallConn implements syscall.Conn. See Conn.SyscallConn.
func (l *Listener) SyscallConn() (syscall.RawConn, error) {
	if !l.ok() {
		return nil, syscall.EINVAL
	}
	return rawConn{&l.d, l.failed, nil}, nil
}

// Control implements syscall.RawConn.
func (r rawConn) Control(f func(fd uintptr)) error {
	return r.failed("raw-control", r.d.control("", func(fd int) error {
		f(uintptr(fd))
		return nil
	}))
}

// Read implements syscall.RawConn.
func (r rawConn) Read(f func(fd uintptr) (done bool)) error {
	return r.failed("raw-read", r.d.reading.lend(f, r.inbox))
}

// Write implements syscall.RawConn.
func (r rawConn) Write(f func(fd uintptr) (done bool)) error {
	return r.failed("raw-write", r.d.writing.lend(f, nil))
}

// lend calls f until it returns true, and waits for the side's events before each other call. An inbox, which may be
// nil, receives no more.
func (s *side) lend(f func(fd uintptr) (done bool), in *inbox) error {
	if err := s.lock(); err != nil {
		return err
	}
	defer s.unlock()
	if in != nil {
		if err := in.turnOff(); err != nil {
			return err
		}
	}
	for !f(uintptr(s.of.fd)) {
		if _, err := s.operate(entry{op: opPoll, flags: s.events}); err != nil {
			return err
		}
	}
	return nil
}
