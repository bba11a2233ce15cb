package uring

import (
	"net"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// mostAccepted is how many connections may wait for Accept before their listener accepts no more. Connections that came
// at the same time are accepted together, so it may be exceeded by as many as the kernel's backlog has.
const mostAccepted = 64

// acceptFlags are those of accept4(2).
const acceptFlags = unix.SOCK_NONBLOCK | unix.SOCK_CLOEXEC

// accepting has one request accept all connections that come to a listener. They wait here, until Accept takes them.
type accepting struct {
	of *Listener

	mu       sync.Mutex // of all that follows; the engine's thread takes it, too
	waiting  []int      // descriptors, the oldest first
	failed   error      // why the request has ended, until a caller has been told
	under    int        // requests under way: accept, and cancel
	stopping bool       // cancel has begun
	refused  bool       // the kernel cannot do it

	engine         *Engine // of the requests
	accept, cancel request
}

// take returns the connection that has waited longest, or why there will be none. It returns false if there is neither.
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

// news tells whether take would return something, or the request has to begin again.
func (a *accepting) news() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.waiting) > 0 || a.failed != nil || a.under == 0
}

// begin has e accept connections, unless that is under way or some wait here. It returns false if the caller should
// accept one itself: no request is under way, so none can bring a connection meanwhile, and e cannot carry one out. The
// error is ErrClosed, or net.ErrClosed.
func (a *accepting) begin(e *Engine) (ahead bool, err error) {
	d := &a.of.d
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.under > 0 || len(a.waiting) > 0:
		return true, nil
	case a.refused || !e.engine.can(acceptMany):
		return false, nil
	case !d.acquire(): // until accept is over
		return true, net.ErrClosed
	}
	a.engine = e
	a.accept = request{
		entry: entry{op: opAccept, how: multishot, fd: int32(d.fd), flags: acceptFlags}, internal: true,
		completed: a.accepted,
	}
	a.under = 1
	if err := e.submit(&a.accept); err != nil {
		a.under = 0
		d.release()
		return true, err
	}
	return true, nil
}

// accepted is told what has come, on the engine's thread.
func (a *accepting) accepted(c completion) {
	d := &a.of.d
	a.mu.Lock()
	switch errno := syscall.Errno(-c.result); {
	case c.result >= 0 && d.isClosing():
		_ = unix.Close(int(c.result))
	case c.result >= 0:
		a.waiting = append(a.waiting, int(c.result))
	case errno == unix.EAGAIN: // an old kernel, which does not wait for descriptors that do not block
		a.refused = true
	case errno != unix.ECANCELED && errno != unix.ECONNABORTED && errno != unix.EINTR: // after these it begins again
		a.failed = errno
	}
	if !c.more() {
		a.under--
	} else if len(a.waiting) >= mostAccepted {
		a.stop()
	}
	a.mu.Unlock()
	d.reading.nudge()
	if !c.more() {
		d.release()
	}
}

// stop ends the request, if it is under way. The caller holds mu.
func (a *accepting) stop() {
	if a.under == 0 || a.stopping {
		return
	}
	a.cancel = request{
		entry: entry{op: opCancel}, internal: true, cancelled: true, cancels: &a.accept, completed: a.stopped,
	}
	a.under++
	a.stopping = true
	if a.engine.submit(&a.cancel) != nil { // the engine has ended, and the request with it
		a.under--
		a.stopping = false
	}
}

func (a *accepting) stopped(completion) {
	a.mu.Lock()
	a.under--
	a.stopping = false
	a.mu.Unlock()
	a.of.d.reading.nudge()
}

// close ends the request, and closes the connections that Accept has not returned.
func (a *accepting) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stop()
	for _, fd := range a.waiting {
		_ = unix.Close(fd)
	}
	a.waiting = nil
}
