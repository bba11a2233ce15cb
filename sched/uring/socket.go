package uring

import (
	"net"

	"golang.org/x/sys/unix"
)

// open opens a socket for e that does not block.
func (e *endpoint) open() (int, error) {
	fd, err := unix.Socket(e.family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return 0, systemCall("socket", err)
	}
	if err := e.setUp(fd); err != nil {
		_ = unix.Close(fd)
		return 0, systemCall("setsockopt", err)
	}
	return fd, nil
}

// What package net sets for all connections: after that many seconds of silence the kernel asks a peer whether it is
// still there, and then as often.
const keepAlive = 15

// setUp sets the options of a socket. Connections that a listener accepts inherit its options.
func (e *endpoint) setUp(fd int) error {
	if e.family == unix.AF_UNIX {
		return nil
	}
	for _, o := range []struct{ level, name, value int }{
		{unix.IPPROTO_TCP, unix.TCP_NODELAY, 1},
		{unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1},
		{unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, keepAlive},
		{unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, keepAlive},
	} {
		if err := unix.SetsockoptInt(fd, o.level, o.name, o.value); err != nil {
			return err
		}
	}
	if e.family == unix.AF_INET6 {
		only := 1
		if e.dual {
			only = 0
		}
		return unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, only)
	}
	return nil
}

// localAddr is the address of a socket's own end, or nil.
func localAddr(fd int) net.Addr { return netAddr(unix.Getsockname(fd)) }

// remoteAddr is the address of its peer, or nil.
func remoteAddr(fd int) net.Addr { return netAddr(unix.Getpeername(fd)) }
