package uring

import (
	"io"
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Conn is a connection by TCP or by a UNIX socket. Fibers and goroutines may use it, several at the same time: one
// reads and one writes, others wait for their turn. What blocks blocks its caller alone, a fiber not its thread.
//
// A call that waits ends when the connection is closed, or when its deadline passes, also if that is set meanwhile.
// Errors are *net.OpError, as package net has them: they wrap net.ErrClosed, os.ErrDeadlineExceeded or the error of the
// system call; ErrClosed if its Engines have been closed. The end of what the peer sends is io.EOF.
//
// The engine of the first caller that reads or writes serves the connection from then on: fibers of that worker are
// served best.
//
// A fiber that waits in Read or Write must not hold a lock of package sync, which would block its whole thread if
// another fiber of it wanted it. Package crypto/tls holds some: on fibers a connection with TLS may be used by one
// fiber at a time, and not by several fibers of one worker.
type Conn struct {
	d             descriptor
	inbox         *inbox
	local, remote net.Addr
}

var (
	_ net.Conn      = (*Conn)(nil)
	_ syscall.Conn  = (*Conn)(nil)
	_ io.ReaderFrom = (*Conn)(nil)
	_ io.WriterTo   = (*Conn)(nil)
)

// newConn makes a connection of fd, which is connected.
func newConn(engines *Engines, fd int, local, remote net.Addr) *Conn {
	c := &Conn{local: local, remote: remote}
	c.d.init(engines, fd)
	c.d.connected = true
	c.inbox = newInbox(c)
	c.d.closes, c.d.closed = func() { c.inbox.halt(true) }, c.inbox.empty
	return c
}

// ok is false for nil and for the zero value, whose methods return syscall.EINVAL as those of package net do.
func (c *Conn) ok() bool { return c != nil && c.d.engines != nil }

// Read implements net.Conn. It reads what has come, up to len(p) bytes, and waits only if there is nothing.
func (c *Conn) Read(p []byte) (int, error) {
	if !c.ok() {
		return 0, syscall.EINVAL
	}
	if err := c.d.reading.lock(); err != nil {
		return 0, c.failed("read", err)
	}
	defer c.d.reading.unlock()
	if len(p) == 0 {
		return 0, nil
	}
	n, err := c.receive(p)
	return n, c.readError(err)
}

// readError is why nothing has been read, as Read returns it.
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

// writeError is why not all has been written, as Write returns it; nil stays nil.
func (c *Conn) writeError(err error) error {
	if err != nil && c.d.isClosing() { // it may be why
		err = net.ErrClosed
	}
	return c.failed("write", systemCall("write", err))
}

// Close implements net.Conn. Calls that wait, and later ones, end with net.ErrClosed. It shuts the connection down,
// also for processes to which its descriptor has been given. It waits until the kernel is done with the descriptor, see
// SetLinger. A second call returns net.ErrClosed.
func (c *Conn) Close() error {
	if !c.ok() {
		return syscall.EINVAL
	}
	return c.failed("close", c.d.close())
}

// CloseRead ends the side that reads: callers get io.EOF.
func (c *Conn) CloseRead() error { return c.shutdown(unix.SHUT_RD) }

// CloseWrite ends the side that writes: the peer reads to the end of what has been written, and then io.EOF.
func (c *Conn) CloseWrite() error { return c.shutdown(unix.SHUT_WR) }

func (c *Conn) shutdown(how int) error {
	return c.control("close", "shutdown", func(fd int) error { return unix.Shutdown(fd, how) })
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
func (c *Conn) SetDeadline(t time.Time) error {
	if !c.ok() {
		return syscall.EINVAL
	}
	return c.failed("set", c.d.setDeadline(t, &c.d.reading, &c.d.writing))
}

// SetReadDeadline implements net.Conn.
func (c *Conn) SetReadDeadline(t time.Time) error {
	if !c.ok() {
		return syscall.EINVAL
	}
	return c.failed("set", c.d.setDeadline(t, &c.d.reading))
}

// SetWriteDeadline implements net.Conn.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	if !c.ok() {
		return syscall.EINVAL
	}
	return c.failed("set", c.d.setDeadline(t, &c.d.writing))
}

// failed is err as package net has it; nil stays nil.
func (c *Conn) failed(op string, err error) error {
	if err == nil {
		return nil
	}
	failed := &net.OpError{Op: op, Source: c.local, Addr: c.remote, Err: err}
	if c.local != nil {
		failed.Net = c.local.Network()
	}
	return failed
}

// control calls f, a system call of that name that does not block, while the descriptor is open.
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
