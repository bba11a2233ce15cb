package fiberio

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/sched/uring"
)

// Dial connects to address on a network, "tcp", "tcp4", "tcp6" or "unix", as net.Dial does. If a name has several
// addresses, they are tried one after the other. Nagle's algorithm is off. ctx bounds the call, and no more. The error
// is a *net.OpError: it wraps that of the system or of the look-up of names, context.Cause(ctx) if ctx is done before,
// sched.ErrNilContext if ctx is nil, or what Here returns. It blocks its caller, a fiber not its thread.
func Dial(ctx context.Context, s *uring.Engines, network, address string) (*Conn, error) {
	endpoints, err := resolve(ctx, network, address, false)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
	var first error
	for i := range endpoints {
		e := &endpoints[i]
		c, err := dialOne(ctx, s, e, len(endpoints)-i)
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
func dialOne(ctx context.Context, s *uring.Engines, e *endpoint, endpoints int) (*Conn, error) {
	if end, ok := ctx.Deadline(); ok && endpoints > 1 {
		left := time.Until(end)
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, min(left, max(leastDial, left/time.Duration(endpoints))))
		defer cancel()
	}
	for tries := 1; ; tries++ {
		c, err := connect(ctx, s, e)
		switch {
		case tries < 3 && errors.Is(err, unix.EADDRNOTAVAIL): // two that connect at the same time may get the same port
		case tries < 3 && err == nil && c.toItself():
			_ = c.Close()
		default:
			return c, err
		}
	}
}

func connect(ctx context.Context, s *uring.Engines, to *endpoint) (*Conn, error) {
	address, err := to.raw()
	if err != nil {
		return nil, systemCall("connect", err)
	}
	fd, err := to.open()
	if err != nil {
		return nil, err
	}
	if err := connectSocket(ctx, s, fd, address); err != nil {
		_ = unix.Close(fd)
		return nil, systemCall("connect", err)
	}
	remote := remoteAddr(fd)
	if remote == nil { // it has gone again
		remote = to.addr
	}
	return newConn(s, fd, localAddr(fd), remote), nil
}

func connectSocket(ctx context.Context, s *uring.Engines, fd int, address []byte) error {
	e, err := s.Here()
	if err != nil {
		return err
	}
	var pin runtime.Pinner
	pin.Pin(&address[0])
	defer pin.Unpin()
	c, err := e.DoContext(
		ctx,
		uring.Entry{Op: uring.OpConnect, FD: int32(fd), Addr: uring.Address(address), Length: uint32(len(address))},
	)
	if err == nil {
		err = c.Err()
	}
	return err
}

// toItself tells whether a connection within this machine has got its own port as its peer.
func (c *Conn) toItself() bool {
	local, ok := c.local.(*net.TCPAddr)
	remote, _ := c.remote.(*net.TCPAddr)
	return ok && remote != nil && local.Port == remote.Port && local.IP.Equal(remote.IP)
}

// endpoint is where a socket is bound or connected to.
type endpoint struct {
	family int // AF_INET, AF_INET6 or AF_UNIX
	to     unix.Sockaddr
	addr   net.Addr
	dual   bool // AF_INET6 that serves IPv4, too
}

// resolve returns the endpoints that address may mean, those to be tried first in front. Names are looked up by the
// resolver of package net; a fiber's thread does other things meanwhile. An empty host is this machine, on all its
// addresses to listen.
func resolve(ctx context.Context, network, address string, listen bool) ([]endpoint, error) {
	if ctx == nil {
		return nil, sched.ErrNilContext
	}
	switch network {
	case "unix":
		return []endpoint{
			{
				family: unix.AF_UNIX, to: &unix.SockaddrUnix{Name: address},
				addr: &net.UnixAddr{Name: address, Net: "unix"},
			},
		}, nil
	case "tcp", "tcp4", "tcp6":
	default:
		return nil, net.UnknownNetworkError(network)
	}
	host, service, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	port, err := lookupPort(ctx, network, service)
	if err != nil {
		return nil, err
	}
	ips, err := lookupHost(ctx, network, host, listen)
	if err != nil {
		return nil, err
	}
	var list []endpoint
	for _, ip := range ips {
		ip = ip.Unmap()
		if network == "tcp4" && !ip.Is4() || network == "tcp6" && ip.Is4() {
			continue
		}
		e := tcpEndpoint(ip, port)
		e.dual = listen && network == "tcp" && ip == netip.IPv6Unspecified()
		list = append(list, e)
	}
	if len(list) == 0 {
		return nil, &net.AddrError{Err: "no suitable address found", Addr: host}
	}
	return list, nil
}

func tcpEndpoint(ip netip.Addr, port int) endpoint {
	addr := &net.TCPAddr{IP: ip.AsSlice(), Port: port, Zone: ip.Zone()}
	if ip.Is4() {
		return endpoint{family: unix.AF_INET, to: &unix.SockaddrInet4{Port: port, Addr: ip.As4()}, addr: addr}
	}
	return endpoint{
		family: unix.AF_INET6, to: &unix.SockaddrInet6{Port: port, Addr: ip.As16(), ZoneId: zone(ip.Zone())},
		addr: addr,
	}
}

// zone is the number of a zone of IPv6 addresses.
func zone(name string) uint32 {
	if name == "" {
		return 0
	}
	if i, err := net.InterfaceByName(name); err == nil {
		return uint32(i.Index)
	}
	n, _ := strconv.ParseUint(name, 10, 32)
	return uint32(n)
}

func zoneName(id uint32) string {
	if id == 0 {
		return ""
	}
	if i, err := net.InterfaceByIndex(int(id)); err == nil {
		return i.Name
	}
	return strconv.FormatUint(uint64(id), 10)
}

func lookupPort(ctx context.Context, network, service string) (int, error) {
	if service == "" {
		return 0, nil
	}
	if port, err := strconv.ParseUint(service, 10, 16); err == nil {
		return int(port), nil
	}
	return fibersync.CallContext(
		ctx, func() (int, error) { return net.DefaultResolver.LookupPort(ctx, network, service) },
	)
}

func lookupHost(ctx context.Context, network, host string, listen bool) ([]netip.Addr, error) {
	if host == "" {
		four, six := netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()
		if !listen {
			return []netip.Addr{four, six}, nil
		}
		return []netip.Addr{netip.IPv6Unspecified(), netip.IPv4Unspecified()}, nil
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{ip}, nil
	}
	family := map[string]string{"tcp": "ip", "tcp4": "ip4", "tcp6": "ip6"}[network]
	return fibersync.CallContext(
		ctx, func() ([]netip.Addr, error) { return net.DefaultResolver.LookupNetIP(ctx, family, host) },
	)
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
		if ip := netip.AddrFrom16(sa.Addr); ip.Is4In6() {
			return &net.TCPAddr{IP: ip.Unmap().AsSlice(), Port: sa.Port}
		}
		return &net.TCPAddr{IP: sa.Addr[:], Port: sa.Port, Zone: zoneName(sa.ZoneId)}
	case *unix.SockaddrUnix:
		return &net.UnixAddr{Name: sa.Name, Net: "unix"}
	}
	return nil
}

// raw returns the address as the kernel has it.
func (e *endpoint) raw() ([]byte, error) {
	b := binary.NativeEndian.AppendUint16(nil, uint16(e.family))
	switch to := e.to.(type) {
	case *unix.SockaddrInet4:
		b = binary.BigEndian.AppendUint16(b, uint16(to.Port))
		b = append(b, to.Addr[:]...)
		return append(b, make([]byte, 8)...), nil
	case *unix.SockaddrInet6:
		b = binary.BigEndian.AppendUint16(b, uint16(to.Port))
		b = append(b, 0, 0, 0, 0)
		b = append(b, to.Addr[:]...)
		return binary.NativeEndian.AppendUint32(b, to.ZoneId), nil
	case *unix.SockaddrUnix:
		if len(to.Name) >= unix.SizeofSockaddrUnix-len(b) {
			return nil, unix.EINVAL
		}
		b = append(b, to.Name...)
		if strings.HasPrefix(to.Name, "@") { // a name that is in no directory
			b[2] = 0
			return b, nil
		}
		return append(b, 0), nil
	}
	return nil, unix.EAFNOSUPPORT
}

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
