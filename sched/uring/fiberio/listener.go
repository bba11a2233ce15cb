package fiberio

import (
	"errors"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"fiberlab/sched/uring"
)

// Listener accepts connections by TCP or by UNIX sockets. Fibers and goroutines may use it, several at the same time.
// See Conn for its deadlines and errors.
type Listener struct {
	d     descriptor
	addr  net.Addr
	ahead accepting // connections that the driver accepts before Accept asks, if it can
}

var (
	_ net.Listener = (*Listener)(nil)
	_ syscall.Conn = (*Listener)(nil)
)

func newListener(engines *uring.Engines, fd int, addr net.Addr) *Listener {
	l := &Listener{addr: addr}
	l.d.init(engines, fd)
	l.ahead.of, l.d.closes = l, l.ahead.close
	if name := addr.String(); addr.Network() == "unix" && name != "" && name[0] != '@' {
		l.d.closes = func() { _ = os.Remove(name); l.ahead.close() } // a later Close might find another file
	}
	return l
}

// ok is as Conn.ok.
func (l *Listener) ok() bool { return l != nil && l.d.engines != nil }

// Accept implements net.Listener. What it returns is a *Conn. When the process has no descriptor left, the error is
// Temporary, as in package net: later calls may succeed.
func (l *Listener) Accept() (net.Conn, error) {
	if !l.ok() {
		return nil, syscall.EINVAL
	}
	fd, err := l.accept()
	if err != nil {
		return nil, l.failed("accept", err)
	}
	local, remote := l.addr, netAddr(unix.Getpeername(fd))
	if tcp, ok := local.(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		local = netAddr(unix.Getsockname(fd))
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
		if s.direct(false) {
			s.beginCall()
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
			return s.operate(uring.Entry{Op: uring.OpAccept, Flags: acceptFlags}, nil)
		}
		if err == nil {
			err = s.WaitFor(e, l.ahead.news, s)
		}
		if err != nil && !(errors.Is(err, uring.ErrClosed) && l.d.move(e)) {
			return 0, err
		}
	}
}

// Close implements net.Listener. Calls of Accept that wait, and later ones, end with net.ErrClosed. The file of a UNIX
// socket is removed. Close waits until the kernel is done with the descriptor. A second call returns net.ErrClosed.
func (l *Listener) Close() error {
	if !l.ok() {
		return syscall.EINVAL
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

func (l *Listener) failed(op string, err error) error { return opError(op, l.addr, nil, l.addr, err) }

// mostAccepted is how many connections may wait for Accept before their listener accepts no more. Connections that came
// at the same time are accepted together, so it may be exceeded by as many as the kernel's backlog has.
const mostAccepted = 64

// acceptFlags are the flags of accept4(2) for each connection.
const acceptFlags = unix.SOCK_NONBLOCK | unix.SOCK_CLOEXEC

// accepting makes one request that accepts all connections of a listener. They wait here, until Accept takes them.
type accepting struct {
	of *Listener

	mu       sync.Mutex // of all that follows; the engine's thread takes it, too
	waiting  []int      // descriptors, the oldest first
	failed   error      // why the request has ended, until Accept has returned it
	under    int        // requests under way: accept, and cancel
	stopping bool       // cancel has begun
	refused  bool       // the kernel cannot do it

	engine         *uring.Engine // of the requests
	accept, cancel uring.Request
}

// take returns the oldest connection, or else why the request has ended, once. It returns false if there is neither.
func (a *accepting) take() (int, error, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.waiting) > 0 {
		fd := a.waiting[0]
		a.waiting = a.waiting[1:]
		return fd, nil, true
	}
	err := a.failed
	a.failed = nil
	return 0, err, err != nil
}

// news reports whether take would return something, or the request has to begin again.
func (a *accepting) news() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.waiting) > 0 || a.failed != nil || a.under == 0
}

// begin submits the accept request to e, unless a request is under way or connections wait here. It returns false if
// the caller is to accept a connection itself: no request is under way, and e or the kernel cannot carry out this one.
// The error is uring.ErrClosed if e takes no requests, or net.ErrClosed.
func (a *accepting) begin(e *uring.Engine) (ahead bool, err error) {
	d := &a.of.d
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.under > 0 || len(a.waiting) > 0:
		return true, nil
	case a.refused || !e.Can(uring.AcceptMany):
		return false, nil
	case !d.acquire(): // until accept is over
		return true, net.ErrClosed
	}
	a.engine = e
	a.accept = uring.Request{
		Entry:    uring.Entry{Op: uring.OpAccept, How: uring.Multishot, FD: int32(d.fd), Flags: acceptFlags},
		Internal: true, Completed: a.accepted,
	}
	a.under = 1
	if err := e.Submit(&a.accept); err != nil {
		a.under = 0
		d.release()
		return true, err
	}
	return true, nil
}

// accepted takes a completion of accept: a connection, or why there is none. The engine's thread calls it.
func (a *accepting) accepted(c uring.Completion) {
	d := &a.of.d
	a.mu.Lock()
	switch errno := syscall.Errno(-c.Result); {
	case c.Result >= 0 && d.isClosing():
		_ = unix.Close(int(c.Result))
	case c.Result >= 0:
		a.waiting = append(a.waiting, int(c.Result))
	case errno == unix.EAGAIN: // an old kernel: it does not wait on a non-blocking descriptor
		a.refused = true
	case errno != unix.ECANCELED && errno != unix.ECONNABORTED && errno != unix.EINTR: // after these it begins again
		a.failed = errno
	}
	if !c.More() {
		a.under--
	} else if len(a.waiting) >= mostAccepted {
		a.stop()
	}
	a.mu.Unlock()
	d.reading.Nudge()
	if !c.More() {
		d.release()
	}
}

// stop has the engine cancel the accept request, if that is under way. It does not wait. The caller holds mu.
func (a *accepting) stop() {
	if a.under == 0 || a.stopping {
		return
	}
	a.cancel = uring.Request{
		Entry: uring.Entry{Op: uring.OpCancel}, Internal: true, Ending: true, Cancels: &a.accept, Completed: a.stopped,
	}
	a.under++
	a.stopping = true
	if a.engine.Submit(&a.cancel) != nil { // the engine has ended, and the request with it
		a.under--
		a.stopping = false
	}
}

// stopped is called on the engine's thread when cancel is over.
func (a *accepting) stopped(uring.Completion) {
	a.mu.Lock()
	a.under--
	a.stopping = false
	a.mu.Unlock()
	a.of.d.reading.Nudge()
}

// close is for descriptor.close. It ends the request, and closes the connections that Accept has not returned.
func (a *accepting) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stop()
	for _, fd := range a.waiting {
		_ = unix.Close(fd)
	}
	a.waiting = nil
}
