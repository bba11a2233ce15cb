package uring

import (
	"context"
	"errors"
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Listener accepts connections by TCP or by UNIX sockets. Fibers and goroutines may use it, several at the same time.
// See Conn for its deadlines and errors.
type Listener struct {
	d      descriptor
	addr   net.Addr
	unlink string // the name of a UNIX socket, to be removed

	ahead accepting // where the driver accepts connections before they are asked for
}

var (
	_ net.Listener = (*Listener)(nil)
	_ syscall.Conn = (*Listener)(nil)
)

// Listen listens on a network, "tcp", "tcp4", "tcp6" or "unix", at address, as net.Listen does. Port 0 is a free one,
// and an empty host is all addresses of this machine, by IPv4 and IPv6. ctx bounds the time that it takes to look names
// up, for which it may block its caller, a fiber not its thread. The error is a *net.OpError: it wraps the error of the
// system or of the look-up, context.Cause(ctx), sched.ErrNilContext, or ErrClosed after Close of the Engines. The
// caller must close the listener.
func (s *Engines) Listen(ctx context.Context, network, address string) (*Listener, error) {
	endpoints, err := resolve(ctx, network, address, true)
	if err == nil && s.closed.Load() {
		err = errEnginesClosed
	}
	if err != nil {
		return nil, &net.OpError{Op: "listen", Net: network, Err: err}
	}
	var first error
	for i := range endpoints {
		e := &endpoints[i]
		fd, err := e.listen()
		if err == nil {
			return newListener(s, fd, e), nil
		}
		if first == nil {
			first = &net.OpError{Op: "listen", Net: network, Addr: e.addr, Err: err}
		}
		if !errors.Is(err, unix.EAFNOSUPPORT) && !errors.Is(err, unix.EADDRNOTAVAIL) { // a machine without IPv6
			break
		}
	}
	return nil, first
}

func newListener(engines *Engines, fd int, e *endpoint) *Listener {
	l := &Listener{addr: localAddr(fd)}
	l.d.init(engines, fd)
	l.ahead.of, l.d.closes = l, l.ahead.close
	if name := e.addr.String(); e.family == unix.AF_UNIX && name != "" && name[0] != '@' {
		l.unlink = name
	}
	return l
}

// listen returns a socket that listens.
func (e *endpoint) listen() (int, error) {
	fd, err := e.open()
	if err != nil {
		return 0, err
	}
	call := "setsockopt"
	if e.family != unix.AF_UNIX {
		err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
	}
	if err == nil {
		call, err = "bind", unix.Bind(fd, e.to)
	}
	if err == nil {
		call, err = "listen", unix.Listen(fd, unix.SOMAXCONN) // the kernel takes less if it is told so
	}
	if err != nil {
		_ = unix.Close(fd)
		return 0, systemCall(call, err)
	}
	return fd, nil
}

// ok is as Conn.ok.
func (l *Listener) ok() bool { return l != nil && l.d.engines != nil }

// Accept implements net.Listener. What it returns is a *Conn. When the process has no descriptor left, the error is
// Temporary, as that of package net: later calls may succeed.
func (l *Listener) Accept() (net.Conn, error) {
	if !l.ok() {
		return nil, syscall.EINVAL
	}
	fd, err := l.accept()
	if err != nil {
		return nil, l.failed("accept", err)
	}
	local, remote := l.addr, remoteAddr(fd)
	if tcp, ok := local.(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		local = localAddr(fd)
	}
	if remote == nil { // it has gone again
		remote = &net.TCPAddr{}
	}
	return newConn(l.d.engines, fd, local, remote), nil
}

// accept waits for a connection and returns its descriptor.
func (l *Listener) accept() (int, error) {
	s := &l.d.reading
	if err := s.lock(); err != nil {
		return 0, err
	}
	defer s.unlock()
	for {
		fd, err := l.acceptOne()
		if err != unix.ECONNABORTED && err != unix.EINTR { // it had gone before it was accepted
			return fd, systemCall("accept", err)
		}
	}
}

// acceptOne is accept for the user of the side.
func (l *Listener) acceptOne() (int, error) {
	s := &l.d.reading
	for {
		if fd, err, ok := l.ahead.take(); ok {
			return fd, err
		}
		if s.direct() {
			if fd, _, err := unix.Accept4(l.d.fd, acceptFlags); err != unix.EAGAIN {
				return fd, err
			}
		}
		e, err := l.d.home()
		if err != nil {
			return 0, err
		}
		ahead, err := l.ahead.begin(e)
		if !ahead {
			return s.operate(entry{op: opAccept, flags: acceptFlags})
		}
		if err == nil {
			err = s.waitFor(e, l.ahead.news, s)
		}
		if err != nil && !(errors.Is(err, ErrClosed) && l.d.move(e)) {
			return 0, err
		}
	}
}

// Close implements net.Listener. Calls of Accept that wait, and later ones, end with net.ErrClosed. The file of a UNIX
// socket is removed. A second call returns net.ErrClosed.
func (l *Listener) Close() error {
	if !l.ok() {
		return syscall.EINVAL
	}
	if l.unlink != "" && !l.d.isClosing() {
		_ = os.Remove(l.unlink)
	}
	return l.failed("close", l.d.close())
}

// Addr implements net.Listener.
func (l *Listener) Addr() net.Addr {
	if !l.ok() {
		return nil
	}
	return l.addr
}

// SetDeadline sets when Accept ends with os.ErrDeadlineExceeded; the zero time is never.
func (l *Listener) SetDeadline(t time.Time) error {
	if !l.ok() {
		return syscall.EINVAL
	}
	return l.failed("set", l.d.setDeadline(t, &l.d.reading))
}

// failed is err as package net has it; nil stays nil.
func (l *Listener) failed(op string, err error) error {
	if err == nil {
		return nil
	}
	failed := &net.OpError{Op: op, Addr: l.addr, Err: err}
	if l.addr != nil {
		failed.Net = l.addr.Network()
	}
	return failed
}
