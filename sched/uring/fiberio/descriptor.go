package fiberio

import (
	"errors"
	"math"
	"net"
	"os"
	"runtime"
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
	engine  atomic.Pointer[uring.Engine] // carries out all operations: that of the caller of the first one
	uses    atomic.Int64                 // calls that have begun, and the bit closing

	reading, writing side

	connected bool             // Close tells the peer at once
	gone      *fibersync.Event // fd is closed, and err is why not; made by the first Close
	err       error            // of close(2)
	closes    func()           // if not nil, what close calls first
	closed    func()           // if not nil, what is called when its last use has ended after close
	shut      func(int) error  // closes fd; it may block its caller
}

// closing is set in uses by the first Close.
const closing = 1 << 62

// init makes d the owner of fd, which does not block.
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

// release undoes acquire. The last one after Close closes fd. It blocks neither a fiber nor the thread of an engine:
// where close(2) waits for the peer, that call is a goroutine's.
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

// close ends the operations that are under way with net.ErrClosed, and closes the descriptor when the kernel is done
// with them. It blocks its caller until then. Once it has been called it returns net.ErrClosed.
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
	// Their end may take a while. With a linger of 0, the peer is to get a reset.
	if d.connected && d.uses.Load() > closing+1 && linger(d.fd) != 0 {
		_ = unix.Shutdown(d.fd, unix.SHUT_RDWR)
	}
	d.release()
	uring.Unseen(d.gone.Wait)
	if d.err != nil {
		return os.NewSyscallError("close", d.err)
	}
	return nil
}

// home is the engine of the descriptor.
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

// move gives a descriptor whose engine has ended another one, if there is one.
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
	pin      runtime.Pinner // of the memory of the present operation
	deadline deadline
	moved    int // what its users have transferred by their own system calls since one of them yielded, see mostMoved
}

// lock makes the caller the user of the side, for which it waits. The error is net.ErrClosed, or
// os.ErrDeadlineExceeded.
func (s *side) lock() error {
	if s.of == nil || !s.of.acquire() {
		return net.ErrClosed
	}
	if !s.use.TryLock() {
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

// operate carries out op on the descriptor for the user of the side, who waits for it. It returns the result of the
// system call; the error is the kernel's, why the side has ended, or ErrClosed.
func (s *side) operate(op uring.Entry) (int, error) {
	d := s.of
	op.FD = int32(d.fd)
	for {
		e, err := d.home()
		if err != nil {
			return 0, err
		}
		c, err := s.Await(e, op, s)
		if err != nil {
			if errors.Is(err, uring.ErrClosed) && d.move(e) {
				continue
			}
			return 0, err
		}
		switch {
		case c.Result >= 0:
			return int(c.Result), nil
		// old kernels do not wait for all descriptors that do not block
		case c.Result == -int32(unix.EAGAIN) && op.Op != uring.OpPoll:
			if _, err := s.operate(uring.Entry{Op: uring.OpPoll, Flags: s.events}); err != nil {
				return 0, err
			}
		case c.Result != -int32(unix.EINTR):
			return 0, c.Err()
		}
	}
}

// transfer is operate for an operation on p, which is not empty.
func (s *side) transfer(op uring.Op, p []byte) (int, error) {
	s.pin.Pin(&p[0])
	defer s.pin.Unpin()
	flags := uint32(unix.MSG_NOSIGNAL)
	if op == uring.OpSend {
		flags |= unix.MSG_WAITALL // a ring completes when all is sent
	}
	return s.operate(uring.Entry{Op: op, Flags: flags, Addr: address(p), Length: uint32(len(p))})
}

// address is where the bytes of p are. They must be pinned.
func address(p []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(p))) }

// mostMoved is how many bytes a fiber transfers by its own system calls before it yields. Each call counts as callMoves
// bytes, too.
const (
	mostMoved = 2 << 20
	callMoves = 4 << 10
)

// mostNow is how many bytes one of these calls transfers: as long as it takes, the thread keeps its P.
const mostNow = 1 << 20

// try makes the system call recvfrom or sendto with p, which is not empty, without blocking, if the caller should make
// one. Otherwise, and if nothing can be transferred now, the error is EAGAIN: the caller makes a request then.
func (s *side) try(trap uintptr, p []byte, streams bool) (int, error) {
	if !s.direct(streams) {
		return 0, unix.EAGAIN
	}
	s.beginCall()
	n, err := tryNow(trap, s.of.fd, p[:min(len(p), mostNow)])
	s.moved += n
	return n, err
}

// direct reports whether the user of the side should first make a system call that does not block. That is quicker than
// a request for a stream, whose bytes take longer to copy than a batch saves, and for callers that are no fibers of the
// engine's thread.
func (s *side) direct(streams bool) bool {
	e, err := s.of.home()
	return err == nil && (streams || !e.Mine())
}

// beginCall counts a system call of the user of the side that does not block. Such calls do not park a fiber, so after
// mostMoved bytes it yields.
func (s *side) beginCall() {
	if s.moved += callMoves; s.moved < mostMoved {
		return
	}
	s.moved = 0
	if fiber, ok := park.Current().(park.Scheduled); ok {
		fiber.Yield()
	}
}

// tryNow makes the system call recvfrom or sendto, with p, which is not empty. It does not block: then the error is
// EAGAIN. The thread keeps its P, so p should not be so long that other goroutines miss that.
func tryNow(trap uintptr, socket int, p []byte) (int, error) {
	for {
		at, length := uintptr(unsafe.Pointer(&p[0])), uintptr(len(p))
		n, _, errno := syscall.RawSyscall6(trap, uintptr(socket), at, length, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, 0, 0)
		if errno != unix.EINTR {
			return movedNow(n, errno)
		}
	}
}

// movedNow is what a system call returns that has transferred n bytes, or has failed.
func movedNow(n uintptr, errno syscall.Errno) (int, error) {
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// systemCall adds the name of a system call to its error; other errors it leaves alone.
func systemCall(name string, err error) error {
	if errno, ok := err.(syscall.Errno); ok {
		return os.NewSyscallError(name, errno)
	}
	return err
}

// deadline is a time that may change while others wait for it. The zero value is never.
type deadline struct{ at atomic.Int64 } // nanoseconds since epoch; 0: never

// epoch has a reading of the monotonic clock, as all times that are compared with it.
var epoch = time.Now()

// set makes t the deadline; the zero time is never. By a Swap, see pollSubmit: the caller looks next whether something
// waits.
func (d *deadline) set(t time.Time) {
	if t.IsZero() {
		d.at.Swap(0)
		return
	}
	now := time.Now()
	at := int64(now.Sub(epoch))
	if left := int64(t.Sub(now)); left < math.MaxInt64-at {
		at += left
	} else {
		at = math.MaxInt64
	}
	if at == 0 {
		at = 1
	}
	d.at.Swap(at)
}

// ended returns os.ErrDeadlineExceeded if the deadline has passed, or else when it will; the zero time is never.
func (d *deadline) ended() (time.Time, error) {
	for {
		at := d.at.Load()
		if at == 0 {
			return time.Time{}, nil
		}
		t := epoch.Add(time.Duration(at))
		if time.Now().Before(t) {
			return t, nil
		}
		if d.at.Load() == at { // it was not put off while it was yet to come
			return time.Time{}, os.ErrDeadlineExceeded
		}
	}
}

// setDeadline sets the deadlines of sides, and has the callers look that wait there.
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
