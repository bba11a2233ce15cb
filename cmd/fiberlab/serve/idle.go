package serve

import (
	"context"
	"crypto/tls"
	"net"
	"sync/atomic"
	"syscall"
	"time"

	"fiberlab/sched/fibersync"

	"golang.org/x/sys/unix"
)

// A client may connect and send nothing, or half a request, or never read its answer. Its connection would hold a
// descriptor and a fiber or goroutine until it closes. So a connection on which no byte moves is closed in the end.

const (
	// DefaultIdle is how long a connection may be open while no byte moves on it.
	DefaultIdle = 2 * time.Minute
	// DefaultHeader is how long a client may take to send the header of a request.
	DefaultHeader = 10 * time.Second
)

// moves is when bytes have moved on a connection last: a call has read or written some, or the client has taken some of
// those that were written before. It may take a slow client long to make room for another write.
type moves struct {
	last atomic.Int64 // since began

	// For closeIdle.
	of     net.Conn
	queued int  // bytes that have been written and that the client had not taken at the last look
	closed bool // it has been found idle
}

var began = time.Now()

// at notes that bytes have moved. Any goroutine or fiber may call it.
func (m *moves) at(now time.Time) { m.last.Store(int64(now.Sub(began))) }

// before reports whether no byte has moved since then.
func (m *moves) before(then time.Time) bool { return m.last.Load() <= int64(then.Sub(began)) }

// look notes that bytes have moved if the client has taken some since the last look.
func (m *moves) look() (moved bool) {
	queued := queuedOn(m.of)
	if moved = queued != m.queued; moved {
		m.queued = queued
		m.at(time.Now())
	}
	return moved
}

// queuedOn asks the kernel for the bytes that have been written to c and that the client has not taken. It is 0 for
// what is no socket.
func queuedOn(c net.Conn) (n int) {
	if secret, ok := c.(*tls.Conn); ok {
		c = secret.NetConn()
	}
	if socket, ok := c.(syscall.Conn); ok {
		if raw, err := socket.SyscallConn(); err == nil {
			_ = raw.Control(func(fd uintptr) { n, _ = unix.IoctlGetInt(int(fd), unix.SIOCOUTQ) })
		}
	}
	return n
}

// closeIdle closes the connections of running on which no byte has moved for limit, until ctx is done. They are found
// up to half of limit later. A limit of 0 or less is none.
func (s *site) closeIdle(ctx context.Context, running session, limit time.Duration) {
	if limit <= 0 {
		return
	}
	look := time.NewTicker(max(limit/4, time.Millisecond))
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-look.C:
			for _, c := range running.idle(now.Add(-limit)) {
				s.idled.Add(1)
				_ = c.Close()
			}
		}
	}
}

// openConns are the connections of a server, each with when bytes have moved on it.
type openConns[C interface {
	comparable
	net.Conn
}] struct {
	mu    fibersync.Mutex
	conns map[C]*moves
}

// open is how many connections there are.
func (s *openConns[C]) open() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// idle returns those connections on which no byte has moved since then. Each is returned once.
func (s *openConns[C]) idle(then time.Time) (idle []net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c, m := range s.conns {
		if !m.closed && !m.look() && m.before(then) {
			m.closed = true // its server may take a while to forget it
			idle = append(idle, c)
		}
	}
	return idle
}
