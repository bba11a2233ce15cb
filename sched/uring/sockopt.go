package uring

import (
	"time"

	"golang.org/x/sys/unix"
)

// SetNoDelay tells whether small writes are sent at once, as they are at first, or may wait for others: Nagle's
// algorithm.
func (c *Conn) SetNoDelay(noDelay bool) error {
	return c.setOption(unix.IPPROTO_TCP, unix.TCP_NODELAY, number(noDelay))
}

// SetKeepAlive tells whether the kernel asks a silent peer whether it is still there, as it does at first.
func (c *Conn) SetKeepAlive(keepAlive bool) error {
	return c.setOption(unix.SOL_SOCKET, unix.SO_KEEPALIVE, number(keepAlive))
}

// SetKeepAlivePeriod sets after how much silence, in whole seconds, rounded up, it asks, and how often.
func (c *Conn) SetKeepAlivePeriod(d time.Duration) error {
	seconds := int((d + time.Second - 1) / time.Second)
	if err := c.setOption(unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, seconds); err != nil {
		return err
	}
	return c.setOption(unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, seconds)
}

// SetLinger sets what becomes of bytes at Close that the peer has not acknowledged. Less than 0: the kernel sends them
// later, as at first. 0: they are dropped, and the peer's calls fail. More: Close waits for the peer, for up to so many
// seconds. It blocks its caller, a fiber not its thread.
func (c *Conn) SetLinger(seconds int) error {
	return c.control("set", "setsockopt", func(fd int) error {
		return unix.SetsockoptLinger(
			fd, unix.SOL_SOCKET, unix.SO_LINGER,
			&unix.Linger{Onoff: int32(number(seconds >= 0)), Linger: int32(max(seconds, 0))},
		)
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

// SetReadBuffer sets the size in bytes of the kernel's buffer for what comes.
func (c *Conn) SetReadBuffer(bytes int) error {
	return c.setOption(unix.SOL_SOCKET, unix.SO_RCVBUF, bytes)
}

// SetWriteBuffer sets the size in bytes of the kernel's buffer for what is to be sent.
func (c *Conn) SetWriteBuffer(bytes int) error {
	return c.setOption(unix.SOL_SOCKET, unix.SO_SNDBUF, bytes)
}

func (c *Conn) setOption(level, name, value int) error {
	return c.control("set", "setsockopt", func(fd int) error { return unix.SetsockoptInt(fd, level, name, value) })
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}
