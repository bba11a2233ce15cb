package fiberio

import (
	"errors"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"fiberlab/sched/fibersync"
	"fiberlab/sched/park"
	"fiberlab/sched/uring"
)

// descriptor is the file descriptor of a socket or a file, from the moment when it is opened until its last use has
// ended after close. It has two sides that do not wait for each other, one to read and one to write. Fibers and
// goroutines may use it at the same time. It must not be copied.
type descriptor struct {
	fd      int
	engines *uring.Engines
	engine  atomic.Pointer[uring.Engine] // of its requests: that of the first caller; move replaces one that has ended
	uses    atomic.Int64                 // calls and requests under way, and the bit closing

	reading, writing side

	connected bool             // it is a connection: close tells the peer at once
	gone      *fibersync.Event // signalled when fd is closed and err is set; made by the first close
	err       error            // of close(2)
	closes    func()           // if not nil, what close calls first
	closed    func()           // if not nil, what is called when its last use has ended after close
	shut      func(int) error  // closes fd; it may block its caller
}

// closing is set in uses by the first Close.
const closing = 1 << 62

// init makes d the owner of fd, which is in non-blocking mode. The maker of d calls it before any other method.
func (d *descriptor) init(engines *uring.Engines, fd int) {
	d.fd, d.engines, d.shut = fd, engines, unix.Close
	d.reading.of, d.reading.events = d, unix.POLLIN
	d.writing.of, d.writing.events = d, unix.POLLOUT
}

// acquire keeps fd open until release. It returns false once Close has been called, and for the zero value.
func (d *descriptor) acquire() bool {
	for d.engines != nil {
		n := d.uses.Load()
		if n&closing != 0 {
			return false
		}
		if d.uses.CompareAndSwap(n, n+1) {
			return true
		}
	}
	return false
}

// release undoes acquire. The last release after close closes fd, by shut. For a file, shut may block the caller. If a
// connection lingers, close(2) waits for the peer: then a goroutine calls shut, and no fiber or engine waits.
func (d *descriptor) release() {
	if d.uses.Add(-1) != closing {
		return
	}
	if d.closed != nil {
		d.closed()
	}
	if d.connected && linger(d.fd) > 0 {
		go d.closeNow()
		return
	}
	d.closeNow()
}

func (d *descriptor) closeNow() {
	d.err = d.shut(d.fd)
	d.gone.Signal()
}

// isClosing reports whether Close has been called.
func (d *descriptor) isClosing() bool { return d.uses.Load()&closing != 0 }

// close makes operations under way return net.ErrClosed, and closes fd when the kernel is done with them. Until then it
// blocks its caller, a fiber but not its thread. A fiber that must not block gets CanPark's error instead, and the last
// use closes fd. close returns close(2)'s error. Later calls return net.ErrClosed.
func (d *descriptor) close() error {
	if !d.acquire() {
		return net.ErrClosed
	}
	if d.uses.Or(closing)&closing != 0 { // another one was quicker
		d.release()
		return net.ErrClosed
	}
	d.gone = new(fibersync.Event) // before its own release, so that the last one finds it
	if d.closes != nil {
		d.closes()
	}
	d.reading.Nudge()
	d.writing.Nudge()
	// Operations may take a while to end: tell the peer of the close now. With a linger of 0, it is to get a reset.
	if d.connected && d.uses.Load() > closing+1 && linger(d.fd) != 0 {
		_ = unix.Shutdown(d.fd, unix.SHUT_RDWR)
	}
	d.release()
	if err := park.CanPark(); err != nil && !d.gone.IsSignalled() {
		return err // the last use closes fd
	}
	uring.Unseen(d.gone.Wait)
	if d.err != nil {
		return os.NewSyscallError("close", d.err)
	}
	return nil
}

// home returns the engine of the descriptor. The first call sets it by Engines.Here, whose error it returns.
func (d *descriptor) home() (*uring.Engine, error) {
	if e := d.engine.Load(); e != nil {
		return e, nil
	}
	e, err := d.engines.Here()
	if err != nil {
		return nil, err
	}
	if !d.engine.CompareAndSwap(nil, e) {
		e = d.engine.Load()
	}
	return e, nil
}

// move has the engine that Here returns replace from, which has ended. It reports whether d has another engine now.
func (d *descriptor) move(from *uring.Engine) bool {
	to, err := d.engines.Here()
	return err == nil && to != from && (d.engine.CompareAndSwap(from, to) || d.engine.Load() != from)
}

// side is one direction of a descriptor. One caller at a time uses it, between lock and unlock.
type side struct {
	uring.Operation
	of       *descriptor
	events   uint32 // of poll(2): it would not block
	use      fibersync.Mutex
	deadline deadline
	moved    int // what its users have transferred by their own system calls since one of them yielded, see mostMoved
}

// lock waits until no other caller uses the side, and makes its caller the user. It blocks a fiber, not its thread. If
// it returns net.ErrClosed, os.ErrDeadlineExceeded or CanPark's error, the caller is not the user, and must not call
// unlock.
func (s *side) lock() error {
	if s.of == nil || !s.of.acquire() {
		return net.ErrClosed
	}
	if !s.use.TryLock() {
		if err := park.CanPark(); err != nil {
			s.of.release()
			return err
		}
		uring.Unseen(s.use.Lock)
	}
	if _, err := s.Ended(); err != nil {
		s.unlock()
		return err
	}
	return nil
}

func (s *side) unlock() {
	s.use.Unlock()
	s.of.release()
}

// Ended implements uring.Ending.
func (s *side) Ended() (time.Time, error) {
	if s.of.isClosing() {
		return time.Time{}, net.ErrClosed
	}
	return s.deadline.ended()
}

// operate carries out op with memory, which may be nil, on the descriptor. It blocks its caller, the user of the side,
// until op is over, and returns the result of the system call. Errors come from the kernel, from Engines.Here and from
// Await.
func (s *side) operate(op uring.Entry, memory []byte) (int, error) {
	d := s.of
	op.FD = int32(d.fd)
	for {
		e, err := d.home()
		if err != nil {
			return 0, err
		}
		c, err := s.Await(e, op, memory, s)
		if err != nil {
			if errors.Is(err, uring.ErrClosed) && d.move(e) {
				continue
			}
			return 0, err
		}
		switch {
		case c.Result >= 0:
			return int(c.Result), nil
		// an old kernel returns EAGAIN for some non-blocking descriptors, and does not wait
		case c.Result == -int32(unix.EAGAIN) && op.Op != uring.OpPoll:
			if err := s.poll(); err != nil {
				return 0, err
			}
		case c.Result != -int32(unix.EINTR):
			return 0, c.Err()
		}
	}
}

// poll is operate that waits until a system call on the side would not block.
func (s *side) poll() error {
	_, err := s.operate(uring.Entry{Op: uring.OpPoll, Flags: s.events}, nil)
	return err
}

// transfer is operate that sends or receives p.
func (s *side) transfer(op uring.Op, p []byte) (int, error) {
	flags := uint32(unix.MSG_NOSIGNAL)
	if op == uring.OpSend {
		flags |= unix.MSG_WAITALL // a ring completes when all is sent
	}
	return s.operate(uring.Entry{Op: op, Flags: flags, Length: uint32(len(p))}, p)
}

// mostMoved is how many bytes the users of a side transfer by their own system calls before one of them yields. Each
// call adds callMoves bytes to the count. A goroutine does not yield.
const (
	mostMoved = 2 << 20
	callMoves = 4 << 10
	mostNow   = 1 << 20 // what one of these calls transfers at most: the thread keeps its P for that long
)

// try makes the system call trap, recvfrom or sendto, with p, which is not empty, for the user of the side. It does not
// block, but may yield. It returns EAGAIN if direct returns false or nothing can be transferred: then make a request.
func (s *side) try(trap uintptr, p []byte, streams bool) (int, error) {
	if !s.direct(streams) {
		return 0, unix.EAGAIN
	}
	s.beginCall()
	n, err := tryNow(trap, s.of.fd, p[:min(len(p), mostNow)])
	s.moved += n
	return n, err
}

// direct reports whether the user of the side should try a system call that does not block before it makes a request.
// That is quicker on a stream: a copy of its bytes takes longer than a batch saves. It is also quicker if the caller is
// not a fiber of the engine's thread. direct returns false if home returns an error.
func (s *side) direct(streams bool) bool {
	e, err := s.of.home()
	return err == nil && (streams || !e.Mine())
}

// beginCall counts a system call that does not block; the user of the side calls it before the call. Such calls do not
// park a fiber, so after mostMoved bytes beginCall yields.
func (s *side) beginCall() {
	if s.moved += callMoves; s.moved < mostMoved {
		return
	}
	s.moved = 0
	if fiber, ok := park.Current().(park.Scheduled); ok && fiber.CanPark() == nil {
		fiber.Yield()
	}
}

// tryNow makes the system call trap, recvfrom or sendto, with p, which is not empty. If the call would block, the error
// is EAGAIN. The thread keeps its P during the call, so p should be short: other goroutines may need that P.
func tryNow(trap uintptr, socket int, p []byte) (int, error) {
	for {
		at, length := uintptr(unsafe.Pointer(&p[0])), uintptr(len(p))
		n, _, errno := syscall.RawSyscall6(trap, uintptr(socket), at, length, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, 0, 0)
		if errno == 0 {
			return int(n), nil
		}
		if errno != unix.EINTR {
			return 0, errno
		}
	}
}

// systemCall adds the name of a system call to err if err is a syscall.Errno. It returns any other err unchanged.
func systemCall(name string, err error) error {
	if errno, ok := err.(syscall.Errno); ok {
		return os.NewSyscallError(name, errno)
	}
	return err
}

// deadline is a time that may change while others wait for it. The zero value is never.
type deadline struct{ at atomic.Pointer[time.Time] } // nil: never

// set makes t the deadline; the zero time is never. It uses a Swap, since its caller calls Nudge next, which looks for
// a waiter: see pollSubmit in package uring.
func (d *deadline) set(t time.Time) {
	if t.IsZero() {
		d.at.Swap(nil)
		return
	}
	now := time.Now()
	at := now.Add(t.Sub(now)) // by the monotonic clock
	d.at.Swap(&at)
}

// ended returns os.ErrDeadlineExceeded if the deadline has passed, and otherwise the deadline; the zero time is never.
func (d *deadline) ended() (time.Time, error) {
	for {
		at := d.at.Load()
		switch {
		case at == nil:
			return time.Time{}, nil
		case time.Now().Before(*at):
			return *at, nil
		case d.at.Load() == at: // it has not been changed since
			return time.Time{}, os.ErrDeadlineExceeded
		}
	}
}

// setDeadline sets the deadlines of sides, and wakes their waiters to look again. After close it returns net.ErrClosed.
func (d *descriptor) setDeadline(t time.Time, sides ...*side) error {
	if !d.acquire() {
		return net.ErrClosed
	}
	defer d.release()
	for _, s := range sides {
		s.deadline.set(t)
		s.Nudge()
	}
	return nil
}
