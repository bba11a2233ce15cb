package fiberio

import (
	"context"
	"net"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/sched/park"
	"fiberlab/sched/uring"
)

// Dial connects to address on a network, "tcp", "tcp4", "tcp6" or "unix", as net.Dial does. Package net looks names up
// and connects, for a fiber on a goroutine; then the engines read and write. ctx ends the call, but not the connection.
// Dial blocks its caller: a fiber, not its thread. The error is a *net.OpError of package net. Or it wraps
// context.Cause(ctx) if ctx is done first, sched.ErrNilContext, sched.ErrInWait, or the error of Engines.Here.
func Dial(ctx context.Context, s *uring.Engines, network, address string) (*Conn, error) {
	engine := func() error {
		_, err := s.Here()
		return err
	}
	c, err := opened(ctx, engine, "dial", network, func() (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, address)
	})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	fd, err := another(c.(syscall.Conn))
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Addr: c.RemoteAddr(), Err: err}
	}
	return newConn(s, fd, c.LocalAddr(), c.RemoteAddr()), nil
}

// Listen listens on a network, "tcp", "tcp4", "tcp6" or "unix", at address, as net.Listen does. While it looks names
// up, it may block its caller: a fiber, not its thread. ctx ends only that. It returns the errors of Dial, but with the
// error of Engines.Err instead of Here's. The caller must close the listener.
func Listen(ctx context.Context, s *uring.Engines, network, address string) (*Listener, error) {
	l, err := opened(ctx, s.Err, "listen", network, func() (net.Listener, error) {
		var c net.ListenConfig
		c.SetMultipathTCP(false)
		return c.Listen(ctx, network, address)
	})
	if err != nil {
		return nil, err
	}
	defer l.Close()
	fd, err := another(l.(syscall.Conn))
	if err != nil {
		return nil, &net.OpError{Op: "listen", Net: network, Addr: l.Addr(), Err: err}
	}
	if u, ok := l.(*net.UnixListener); ok {
		u.SetUnlinkOnClose(false) // the file is the new listener's
	} else if err := setUp(fd); err != nil {
		_ = unix.Close(fd)
		return nil, &net.OpError{Op: "listen", Net: network, Addr: l.Addr(), Err: err}
	}
	return newListener(s, fd, l.Addr()), nil
}

// opened calls open, which opens a socket by package net, for a fiber on a goroutine. It does not if ctx is nil, the
// network is none of Dial's, the caller must not park, or ready fails. If open fails and ctx is done, the error wraps
// context.Cause(ctx). Package net keeps no thread while it waits, so Config.MaxCalls does not apply.
func opened[T any](
	ctx context.Context, ready func() error, op, network string, open func() (T, error),
) (socket T, err error) {
	switch network {
	case "tcp", "tcp4", "tcp6", "unix":
	default:
		err = net.UnknownNetworkError(network)
	}
	if ctx == nil {
		err = sched.ErrNilContext
	}
	if err == nil {
		err = park.CanPark() // else the socket would be lost
	}
	if err == nil {
		err = ready()
	}
	if err == nil {
		call := func() {
			socket, err = open()
			if end, ok := ctx.Deadline(); ok && err != nil && !time.Now().Before(end) {
				<-ctx.Done() // package net has a timer of its own for it
			}
		}
		if park.Current() == nil {
			call()
		} else {
			var over fibersync.Event
			time.AfterFunc(0, func() { // begins sooner than a new goroutine while the worker keeps its P
				call()
				over.Signal()
			})
			uring.Unseen(over.Wait)
		}
		if err == nil || ctx.Err() == nil {
			return socket, err
		}
		err = context.Cause(ctx)
	}
	return socket, &net.OpError{Op: op, Net: network, Err: err}
}

// another returns a second descriptor of a socket of package net: it is in non-blocking mode. The caller must close it.
func another(socket syscall.Conn) (fd int, err error) {
	raw, err := socket.SyscallConn()
	if err != nil {
		return -1, err
	}
	failed := raw.Control(func(of uintptr) { fd, err = unix.FcntlInt(of, unix.F_DUPFD_CLOEXEC, 0) })
	if failed != nil {
		err = failed
	}
	return fd, err
}

// keepAlive is what package net sets: after that many seconds of silence the kernel asks a peer whether it is still
// there, and then as often.
const keepAlive = 15

// setUp gives fd, a TCP listener, the options that package net sets for connections: accepted ones inherit them.
func setUp(fd int) error {
	for _, o := range []struct{ level, name, value int }{
		{unix.IPPROTO_TCP, unix.TCP_NODELAY, 1},
		{unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1},
		{unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, keepAlive},
		{unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, keepAlive},
	} {
		if err := unix.SetsockoptInt(fd, o.level, o.name, o.value); err != nil {
			return systemCall("setsockopt", err)
		}
	}
	return nil
}

// netAddr is a socket's address as package net has it, or nil if there is none.
func netAddr(sa unix.Sockaddr, err error) net.Addr {
	if err != nil {
		return nil
	}
	switch sa := sa.(type) {
	case *unix.SockaddrInet4:
		return &net.TCPAddr{IP: sa.Addr[:], Port: sa.Port}
	case *unix.SockaddrInet6:
		if ip := net.IP(sa.Addr[:]).To4(); ip != nil {
			return &net.TCPAddr{IP: ip, Port: sa.Port}
		}
		zone := ""
		if i, err := net.InterfaceByIndex(int(sa.ZoneId)); err == nil {
			zone = i.Name
		} else if sa.ZoneId > 0 {
			zone = strconv.Itoa(int(sa.ZoneId))
		}
		return &net.TCPAddr{IP: sa.Addr[:], Port: sa.Port, Zone: zone}
	case *unix.SockaddrUnix:
		return &net.UnixAddr{Name: sa.Name, Net: "unix"}
	}
	return nil
}
