package fiberio

import (
	"errors"
	"io"
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"fiberlab/internal/fault"
	"fiberlab/sched/uring"
)

// Conn is a connection by TCP or by a UNIX socket. Several fibers and goroutines may use it at the same time: one reads
// and one writes, others wait for their turn. A call that waits blocks a fiber, not its thread.
//
// A call that waits ends when the connection is closed, or when its deadline passes, even one that is set later. Errors
// are *net.OpError, as in package net. They wrap net.ErrClosed, os.ErrDeadlineExceeded, the error of a system call,
// uring.ErrClosed if the Engines have been closed, or sched.ErrInWait if a fiber must not block. Read returns io.EOF at
// the end of what the peer sends.
//
// The engine of the first caller that reads or writes serves the connection. Fibers of this engine's worker are served
// best. When this engine has ended, the engine of the next caller replaces it.
//
// A fiber that waits in Read or Write must not hold a lock of package sync: another fiber of its thread that wants the
// lock would block both. Package crypto/tls holds such locks in Read and Write. So only one fiber at a time should use
// a connection with TLS; docs/uring.md says when two may share it.
type Conn struct {
	d             descriptor
	inbox         *inbox
	local, remote net.Addr
}

var (
	_ net.Conn     = (*Conn)(nil)
	_ syscall.Conn = (*Conn)(nil)
	_ io.WriterTo  = (*Conn)(nil)
)

// newConn makes a connection of fd, which is connected.
func newConn(engines *uring.Engines, fd int, local, remote net.Addr) *Conn {
	c := &Conn{local: local, remote: remote}
	c.d.init(engines, fd)
	c.d.connected = true
	c.inbox = newInbox(c)
	c.d.closes, c.d.closed = c.inbox.close, c.inbox.empty
	return c
}

// ok is false for nil and for the zero value. Their methods return syscall.EINVAL, as in package net.
func (c *Conn) ok() bool { return c != nil && c.d.engines != nil }

// Read implements net.Conn. It reads what has come, up to len(p) bytes, and waits only if there is nothing.
func (c *Conn) Read(p []byte) (int, error) {
	if !c.ok() {
		return 0, syscall.EINVAL
	}
	if len(p) == 0 && !c.d.isClosing() {
		return 0, nil
	}
	if err := c.d.reading.lock(); err != nil {
		return 0, c.failed("read", err)
	}
	defer c.d.reading.unlock()
	n, err := c.receive(p)
	return n, c.readError(err)
}

// readError turns an error of receive into the one that Read returns. nil stays nil, and so does io.EOF before Close.
func (c *Conn) readError(err error) error {
	switch {
	case err != nil && c.d.isClosing(): // it may be why
		return c.failed("read", net.ErrClosed)
	case err != nil && err != io.EOF:
		return c.failed("read", systemCall("read", err))
	}
	return err
}

// Write implements net.Conn. It returns when the kernel has taken all of p, or with an error and how much it has taken.
func (c *Conn) Write(p []byte) (int, error) {
	if !c.ok() {
		return 0, syscall.EINVAL
	}
	if err := c.d.writing.lock(); err != nil {
		return 0, c.failed("write", err)
	}
	defer c.d.writing.unlock()
	n, err := c.send(p)
	return n, c.writeError(err)
}

// writeError turns an error of send into the one that Write returns. nil stays nil.
func (c *Conn) writeError(err error) error {
	if err != nil && c.d.isClosing() { // it may be why
		err = net.ErrClosed
	}
	return c.failed("write", systemCall("write", err))
}

// Close implements net.Conn. Calls that wait, later calls and a second Close return net.ErrClosed. If a call or request
// still uses the descriptor, Close shuts the connection down, in other processes too, unless SetLinger has set 0. If
// Close finds bytes that no Read has taken, a peer by TCP gets a reset. Close blocks its caller, a fiber but not its
// thread, until the kernel is done with the descriptor, see SetLinger. In a fiber that must not block, Close may return
// sched.ErrInWait: then the last use closes the descriptor.
func (c *Conn) Close() error {
	if !c.ok() {
		return syscall.EINVAL
	}
	return c.failed("close", c.d.close())
}

// CloseWrite ends the side that writes: the peer reads to the end of what has been written, and then io.EOF.
func (c *Conn) CloseWrite() error {
	return c.control("close", "shutdown", func(fd int) error { return unix.Shutdown(fd, unix.SHUT_WR) })
}

// LocalAddr implements net.Conn.
func (c *Conn) LocalAddr() net.Addr {
	if !c.ok() {
		return nil
	}
	return c.local
}

// RemoteAddr implements net.Conn.
func (c *Conn) RemoteAddr() net.Addr {
	if !c.ok() {
		return nil
	}
	return c.remote
}

// SetDeadline implements net.Conn.
func (c *Conn) SetDeadline(t time.Time) error { return c.setDeadline(t, 0, 2) }

// SetReadDeadline implements net.Conn.
func (c *Conn) SetReadDeadline(t time.Time) error { return c.setDeadline(t, 0, 1) }

// SetWriteDeadline implements net.Conn.
func (c *Conn) SetWriteDeadline(t time.Time) error { return c.setDeadline(t, 1, 2) }

// setDeadline sets the deadlines of the sides from, ..., to-1: side 0 reads, and side 1 writes.
func (c *Conn) setDeadline(t time.Time, from, to int) error {
	if !c.ok() {
		return syscall.EINVAL
	}
	sides := []*side{&c.d.reading, &c.d.writing}
	return c.failed("set", c.d.setDeadline(t, sides[from:to]...))
}

func (c *Conn) failed(op string, err error) error {
	return opError(op, c.local, c.local, c.remote, err)
}

// opError returns err in a *net.OpError with the network of the address of, as package net does; nil stays nil.
func opError(op string, of, source, addr net.Addr, err error) error {
	if err == nil {
		return nil
	}
	failed := &net.OpError{Op: op, Source: source, Addr: addr, Err: err}
	if of != nil {
		failed.Net = of.Network()
	}
	return failed
}

// control calls f while the descriptor is open. f makes the system call that name says, which must not block.
func (c *Conn) control(op, name string, f func(fd int) error) error {
	if !c.ok() {
		return syscall.EINVAL
	}
	return c.failed(op, c.d.control(name, f))
}

func (d *descriptor) control(name string, f func(fd int) error) error {
	if !d.acquire() {
		return net.ErrClosed
	}
	defer d.release()
	return systemCall(name, f(d.fd))
}

// receive puts what has come into p, which is not empty, and waits if nothing has come. The caller has locked
// c.d.reading. The error is io.EOF, the kernel's, or one of Operation.Await.
func (c *Conn) receive(p []byte) (int, error) {
	p = p[:min(len(p), uring.MostAtOnce)]
	n, err, ok := c.inbox.receive(p)
	if !ok {
		n, err = c.receiveOnce(p)
	}
	received(p[:n])
	return n, err
}

// receiveOnce is receive without the inbox, which must have no request under way.
func (c *Conn) receiveOnce(p []byte) (int, error) {
	n, err := c.d.reading.try(unix.SYS_RECVFROM, p, c.inbox.streams.Load())
	if err == unix.EAGAIN {
		n, err = c.d.reading.transfer(uring.OpReceive, p)
	}
	return c.receivedOnce(n, err, p)
}

// receivedOnce returns err if it is not nil, or io.EOF if n is 0. Otherwise it returns n, and has the inbox note n.
func (c *Conn) receivedOnce(n int, err error, p []byte) (int, error) {
	if err != nil {
		return 0, err
	}
	if n == 0 {
		return 0, io.EOF
	}
	c.inbox.receivedOnce(n, len(p))
	return n, nil
}

// receiveNow is receiveOnce for a connection that streams. The error is EAGAIN if nothing has come.
func (c *Conn) receiveNow(p []byte) (int, error) {
	n, err := c.d.reading.try(unix.SYS_RECVFROM, p, true)
	n, err = c.receivedOnce(n, err, p)
	received(p[:n])
	return n, err
}

// largeSend is the size from which a Write begins with a system call on any connection, not only on one that streams.
const largeSend = 16 << 10

// send waits until the kernel has taken all of p. The caller has locked c.d.writing. send returns how many bytes the
// kernel has taken. If they are fewer than len(p), the error says why.
func (c *Conn) send(p []byte) (sent int, err error) {
	if len(p) == 0 { // does not block; the kernel refuses a connection that CloseWrite or the peer has ended
		return 0, unix.Send(c.d.fd, nil, unix.MSG_NOSIGNAL)
	}
	sending(p)
	sent, err = c.d.writing.try(unix.SYS_SENDTO, p, len(p) >= largeSend || c.inbox.streams.Load())
	for n := 0; sent < len(p) && (err == nil || err == unix.EAGAIN); sent += n {
		n, err = c.d.writing.transfer(uring.OpSend, p[sent:min(len(p), sent+uring.MostAtOnce)])
	}
	return sent, err
}

// rawConn is what SyscallConn of a Conn or a Listener returns.
type rawConn struct {
	d      *descriptor
	failed func(op string, err error) error
}

// SyscallConn implements syscall.Conn. Control of its result sets options of the socket; the function that Control
// calls must not block. Read and Write of its result return errors: only the engine reads and writes.
func (c *Conn) SyscallConn() (syscall.RawConn, error) {
	if !c.ok() {
		return nil, syscall.EINVAL
	}
	return rawConn{&c.d, c.failed}, nil
}

// SyscallConn implements syscall.Conn. See Conn.SyscallConn.
func (l *Listener) SyscallConn() (syscall.RawConn, error) {
	if !l.ok() {
		return nil, syscall.EINVAL
	}
	return rawConn{&l.d, l.failed}, nil
}

// Control implements syscall.RawConn.
func (r rawConn) Control(f func(fd uintptr)) error {
	return r.failed("raw-control", r.d.control("", func(fd int) error {
		f(uintptr(fd))
		return nil
	}))
}

// Read implements syscall.RawConn. It returns an error that wraps errors.ErrUnsupported.
func (r rawConn) Read(func(uintptr) bool) error { return r.failed("raw-read", errRaw) }

// Write implements syscall.RawConn. It returns an error that wraps errors.ErrUnsupported.
func (r rawConn) Write(func(uintptr) bool) error { return r.failed("raw-write", errRaw) }

var errRaw = fault.Of(errors.ErrUnsupported, "the engine reads and writes: use the connection's methods, or Control")

// SetLinger sets what Close does with bytes that the peer has not acknowledged. Less than 0, the default: the kernel
// sends them later. 0: the kernel drops them, and the peer's calls fail. More: Close waits for the peer, at most that
// many seconds, and blocks its caller, a fiber but not its thread.
func (c *Conn) SetLinger(seconds int) error {
	l := unix.Linger{Onoff: 1, Linger: int32(max(seconds, 0))}
	if seconds < 0 {
		l.Onoff = 0
	}
	return c.control("set", "setsockopt", func(fd int) error {
		return unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &l)
	})
}

// linger asks the kernel for what SetLinger sets: a listener's connections inherit it, and programs may set it by
// SyscallConn. Less than 0 also stands for an error.
func linger(fd int) int {
	l, err := unix.GetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER)
	if err != nil || l.Onoff == 0 {
		return -1
	}
	return int(l.Linger)
}
