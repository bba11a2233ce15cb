package uring

import (
	"context"
	"errors"
	"net"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Dial connects to address on a network, "tcp", "tcp4", "tcp6" or "unix", as net.Dial does. If a name has several
// addresses, they are tried one after the other. Nagle's algorithm is off. ctx bounds the call, and no more. The error
// is a *net.OpError: it wraps that of the system or of the look-up of names, context.Cause(ctx) if ctx is done before,
// sched.ErrNilContext if ctx is nil, or what Here returns. It blocks its caller, a fiber not its thread.
func (s *Engines) Dial(ctx context.Context, network, address string) (*Conn, error) {
	endpoints, err := resolve(ctx, network, address, false)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
	var first error
	for i := range endpoints {
		e := &endpoints[i]
		c, err := s.dialOne(ctx, e, len(endpoints)-i)
		if err == nil {
			return c, nil
		}
		if first == nil {
			first = &net.OpError{Op: "dial", Net: network, Addr: e.addr, Err: err}
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, first
}

// leastDial is how long each of several addresses is tried, if there is so much time.
const leastDial = 2 * time.Second

// dialOne connects to e. It leaves some of the time that ctx permits to the others of several endpoints.
func (s *Engines) dialOne(ctx context.Context, e *endpoint, endpoints int) (*Conn, error) {
	if end, ok := ctx.Deadline(); ok && endpoints > 1 {
		left := time.Until(end)
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, min(left, max(leastDial, left/time.Duration(endpoints))))
		defer cancel()
	}
	for tries := 1; ; tries++ {
		c, err := s.connect(ctx, e)
		switch {
		case tries < 3 && errors.Is(err, unix.EADDRNOTAVAIL): // two that connect at the same time may get the same port
		case tries < 3 && err == nil && c.toItself():
			_ = c.Close()
		default:
			return c, err
		}
	}
}

func (s *Engines) connect(ctx context.Context, to *endpoint) (*Conn, error) {
	address, err := to.raw()
	if err != nil {
		return nil, systemCall("connect", err)
	}
	fd, err := to.open()
	if err != nil {
		return nil, err
	}
	if err := s.connectSocket(ctx, fd, address); err != nil {
		_ = unix.Close(fd)
		return nil, systemCall("connect", err)
	}
	remote := remoteAddr(fd)
	if remote == nil { // it has gone again
		remote = to.addr
	}
	return newConn(s, fd, localAddr(fd), remote), nil
}

func (s *Engines) connectSocket(ctx context.Context, fd int, address []byte) error {
	e, err := s.Here()
	if err != nil {
		return err
	}
	var pin runtime.Pinner
	pin.Pin(&address[0])
	defer pin.Unpin()
	c, err := e.doContext(
		ctx,
		entry{op: opConnect, fd: int32(fd), addr: uintptr(unsafe.Pointer(&address[0])), length: uint32(len(address))},
	)
	if err == nil {
		err = c.err()
	}
	return err
}

// toItself tells whether a connection within this machine has got its own port as its peer.
func (c *Conn) toItself() bool {
	local, ok := c.local.(*net.TCPAddr)
	remote, _ := c.remote.(*net.TCPAddr)
	return ok && remote != nil && local.Port == remote.Port && local.IP.Equal(remote.IP)
}
