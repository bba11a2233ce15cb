package uring

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"fiberlab/internal/clock"
	"fiberlab/internal/thread"
)

// epoll is the proxy for kernels without io_uring. It serves sockets, and polls whatever poll(2) knows; files are left
// to threads. A turn tries each staged request at once, by a system call that does not block. If the kernel says "not
// now", the request waits in the list of its descriptor until epoll(7) says that another try is worth it:
//
//	staged ──── try ────► done
//	              │  ▲
//	       EAGAIN ▼  │ epoll_pwait names the descriptor
//	          its list
//
// A descriptor must not be closed while requests wait for it: cancel them first. If it is, they wait on until they are
// cancelled by their numbers.
type epoll struct {
	set    int // the epoll instance
	event  int // the eventfd in it that wake writes to
	staged []Entry
	done   []Completion

	waiting map[uint64]*epollRequest // by id
	files   [][]*epollRequest        // by descriptor: those that wait for it, the oldest first
	free    []*epollRequest          // to be used again

	events  []unix.EpollEvent
	found   int            // events that have not been served
	looked  clock.Instant  // when the kernel was last asked for some
	timeout *unix.Timespec // of the wait that is under way
	coarse  bool           // the kernel has no epoll_pwait2: waits are a whole number of milliseconds
	polled  *unix.PollFd   // what poll(2) takes and answers: on a stack, it might move before the call
	atOnce  *unix.Timespec // of that call

	count Stats
}

// epollRequest is a request that waits for its descriptor.
type epollRequest struct {
	Entry
	events uint32 // what it waits for, as epoll(7) has it
}

// readable is what a request that takes something in waits for.
const readable = unix.EPOLLIN | unix.EPOLLPRI | unix.EPOLLRDHUP

// eventsAtATime is how many events one system call fetches at most.
const eventsAtATime = 256

// looksApart is the time after which the kernel is asked again, in nanoseconds, where there are other things to do.
const looksApart = 10_000

// openEpoll opens the proxy for kernels without io_uring, for that many staged requests, rounded up to a power of two.
func openEpoll(requests int) (*epoll, error) {
	set, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("sched/uring: no epoll instance: %w", err)
	}
	event, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		_ = unix.Close(set)
		return nil, fmt.Errorf("sched/uring: no eventfd: %w", err)
	}
	e := &epoll{
		set:     set,
		event:   event,
		staged:  make([]Entry, 0, 1<<bits.Len(uint(max(requests, 1)-1))),
		waiting: make(map[uint64]*epollRequest),
		events:  make([]unix.EpollEvent, eventsAtATime),
		timeout: new(unix.Timespec),
		polled:  new(unix.PollFd),
		atOnce:  new(unix.Timespec),
	}
	// It is never read, and each write to it is a new edge: none is lost.
	on := &unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET, Fd: int32(event)}
	if err := unix.EpollCtl(set, unix.EPOLL_CTL_ADD, event, on); err != nil {
		e.close()
		return nil, fmt.Errorf("sched/uring: no event in the epoll instance: %w", err)
	}
	return e, nil
}

func (e *epoll) close() {
	_ = unix.Close(e.set)
	_ = unix.Close(e.event)
}

func (e *epoll) can(Ability) bool { return false }

// counts returns in Enters how many system calls the engine's thread has made, also those by which it tries requests.
func (e *epoll) counts() Stats { return e.count }

// room is how many requests can be staged before the next turn.
func (e *epoll) room() int { return cap(e.staged) - len(e.staged) }

func (e *epoll) stage(op Entry) bool {
	if e.room() == 0 {
		return false
	}
	e.staged = append(e.staged, op)
	return true
}

func (e *epoll) wake() { writeEvent(e.event) }

// ready looks for events if it knows no work, requests wait, and its last look is old. The next turn serves them.
func (e *epoll) ready() bool {
	if len(e.staged) > 0 || e.found > 0 {
		return true
	}
	if len(e.waiting) == 0 || clock.Now()-e.looked < looksApart {
		return false
	}
	_ = e.wait(0, false) // the next turn meets the same error
	return e.found > 0
}

func (e *epoll) turn(limit time.Duration) ([]Completion, error) { return e.carryOut(limit, false) }

func (e *epoll) idle(limit time.Duration) ([]Completion, error) { return e.carryOut(limit, true) }

// carryOut is turn or, if idle is true, idle. It looks for events if it may wait. It also looks if requests wait and
// either nothing is done or the last look is old. It does not look while events that it has found are left.
func (e *epoll) carryOut(limit time.Duration, idle bool) ([]Completion, error) {
	e.done = e.done[:0]
	e.submit()
	if len(e.done) > 0 {
		limit = 0
	}
	if e.found == 0 && (limit != 0 || len(e.waiting) > 0 && (len(e.done) == 0 || clock.Now()-e.looked >= looksApart)) {
		if err := e.wait(limit, idle); err != nil {
			return nil, err
		}
	}
	e.serve()
	e.count.Collected += uint64(len(e.done))
	return e.done, nil
}

// wait fetches events. It waits for the first as proxy.idle does if idle is true, else as proxy.turn. It may find none.
func (e *epoll) wait(limit time.Duration, idle bool) error {
	call, timeout := uintptr(unix.SYS_EPOLL_PWAIT), uintptr(0)
	switch {
	case limit < 0:
		forever := -1 // a constant would not fit
		timeout = uintptr(forever)
	case limit > 0 && !e.coarse:
		*e.timeout = unix.NsecToTimespec(int64(limit))
		call, timeout = unix.SYS_EPOLL_PWAIT2, uintptr(unsafe.Pointer(e.timeout))
	case limit > 0:
		timeout = uintptr(min((limit+time.Millisecond-1)/time.Millisecond, 1<<30))
	}
	e.count.Enters++
	var n uintptr
	var errno syscall.Errno
	set, events := uintptr(e.set), unsafe.Pointer(&e.events[0])
	switch {
	case limit == 0:
		n, _, errno = syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT, set, uintptr(events), eventsAtATime, 0, 0, 0)
	case idle:
		n, errno = thread.CallWithoutP(call, set, uintptr(events), eventsAtATime, timeout, 0, 0)
	default:
		n, _, errno = syscall.Syscall6(call, set, uintptr(events), eventsAtATime, timeout, 0, 0)
	}
	e.looked = clock.Now()
	switch {
	case errno == 0:
		e.found = int(n)
	case errno == syscall.EINTR: // a signal
	case call == unix.SYS_EPOLL_PWAIT2 && (errno == syscall.ENOSYS || errno == syscall.EPERM):
		e.coarse = true
	default:
		return errno
	}
	return nil
}

func (e *epoll) provide(count, size int) (*Buffers, error) { return nil, syscall.EINVAL }

// submit tries each staged request. It parks those that the kernel cannot carry out now, and completes the others.
func (e *epoll) submit() {
	e.count.Submitted += uint64(len(e.staged))
	for _, op := range e.staged {
		result, events := e.try(&op)
		if events != 0 {
			result = e.park(op, events)
		}
		if result != parked {
			e.done = append(e.done, Completion{id: op.id, Result: result})
		}
	}
	e.staged = e.staged[:0]
}

// parked, as a result, says that the request waits. No system call returns it.
const parked = math.MinInt32

// park puts a request into the list of its descriptor, where it waits for events, and has epoll watch the descriptor.
// It returns parked, or -errno if epoll_ctl(2) fails: -EINVAL for a kind of file that epoll does not know.
func (e *epoll) park(op Entry, events uint32) int32 {
	for int(op.FD) >= len(e.files) {
		e.files = append(e.files, make([][]*epollRequest, max(64, len(e.files)))...)
	}
	// A descriptor may have been closed, and its number may be another file's by now: only the kernel knows.
	watch := unix.EpollEvent{Events: readable | unix.EPOLLOUT | unix.EPOLLET, Fd: op.FD}
	e.count.Enters++
	switch err := unix.EpollCtl(e.set, unix.EPOLL_CTL_ADD, int(op.FD), &watch); err {
	case nil: // it is new: those in the list wait for a file that is not there any more
		e.files[op.FD] = e.files[op.FD][:0]
	case syscall.EEXIST:
	case syscall.EPERM: // epoll knows no such files: what is not there now will not come
		return -int32(syscall.EINVAL)
	default:
		return -int32(err.(syscall.Errno))
	}
	if len(e.free) == 0 {
		e.free = append(e.free, new(epollRequest))
	}
	r := e.free[len(e.free)-1]
	e.free = e.free[:len(e.free)-1]
	*r = epollRequest{op, events}
	e.waiting[r.id] = r
	e.files[r.FD] = append(e.files[r.FD], r)
	return parked
}

// serve takes the events that wait has found. It tries the requests that wait for them, and counts wake-ups.
func (e *epoll) serve() {
	for _, event := range e.events[:e.found] {
		if event.Fd == int32(e.event) {
			e.count.Wakes++
		} else if int(event.Fd) < len(e.files) {
			e.tryAgain(event.Fd, event.Events)
		}
	}
	e.found = 0
}

// tryAgain tries the requests of a descriptor that wait for one of events; after an error or a hang-up, all. If one
// must still wait for EPOLLIN or EPOLLOUT, tryAgain ignores that event for the requests behind it.
func (e *epoll) tryAgain(fd int32, events uint32) {
	if events&(unix.EPOLLERR|unix.EPOLLHUP) != 0 {
		events = ^uint32(0)
	}
	early := uint32(0)
	for i := 0; i < len(e.files[fd]); {
		r := e.files[fd][i]
		if r.events&events&^early != 0 {
			result, still := e.try(&r.Entry)
			if still == 0 {
				e.finish(r, result) // the next one takes its place in the list
				continue
			}
			early |= still & (unix.EPOLLIN | unix.EPOLLOUT)
		}
		i++
	}
}

// finish completes a request that has waited.
func (e *epoll) finish(r *epollRequest, result int32) {
	delete(e.waiting, r.id)
	list := e.files[r.FD]
	if i := slices.Index(list, r); i >= 0 { // else its file is not there any more
		e.files[r.FD] = slices.Delete(list, i, i+1)
	}
	e.done = append(e.done, Completion{id: r.id, Result: result})
	e.free = append(e.free, r)
}

// cancel ends the waiting request of that number. It returns 0, or -ENOENT if no such request waits, as a ring does.
func (e *epoll) cancel(id uint64) int32 {
	r := e.waiting[id]
	if r == nil {
		return -int32(syscall.ENOENT)
	}
	e.finish(r, -int32(syscall.ECANCELED))
	return 0
}

// try carries out one request by system calls that do not block. It returns the result that a ring would have returned,
// or the events that the request has to wait for, as epoll(7) has them. A listener must not be in blocking mode.
func (e *epoll) try(op *Entry) (result int32, events uint32) {
	if op.How&(Multishot|Provided) != 0 {
		return -int32(syscall.EINVAL), 0
	}
	fd := uintptr(op.FD)
	switch op.Op {
	case OpNop:
		return 0, 0
	case OpAccept:
		result, events = e.call(unix.SYS_ACCEPT4, fd, 0, 0, uintptr(op.Flags), 0), readable
	case OpSend:
		flags := uintptr(op.Flags | unix.MSG_DONTWAIT | unix.MSG_NOSIGNAL)
		result, events = e.call(unix.SYS_SENDTO, fd, op.Addr, uintptr(op.Length), flags, 0), unix.EPOLLOUT
	case OpReceive:
		flags := uintptr(op.Flags | unix.MSG_DONTWAIT)
		result, events = e.call(unix.SYS_RECVFROM, fd, op.Addr, uintptr(op.Length), flags, 0), readable
	case OpPoll:
		result, events = e.poll(op.FD, op.Flags), op.Flags|unix.EPOLLERR
	case OpCancel:
		return e.cancel(op.Offset), 0
	default: // files
		return -int32(syscall.EINVAL), 0
	}
	if result == -int32(syscall.EAGAIN) {
		return 0, events
	}
	return result, 0
}

// call makes a system call that does not block. The result is -errno if it fails.
func (e *epoll) call(trap, a, b, c, d, f uintptr) int32 {
	for {
		e.count.Enters++
		result, _, errno := syscall.RawSyscall6(trap, a, b, c, d, f, 0)
		switch errno {
		case 0:
			return int32(result)
		case syscall.EINTR:
			continue
		}
		return -int32(errno)
	}
}

// poll returns which of events, POLLERR and POLLHUP the descriptor has now. It returns -EAGAIN if none, or -errno.
func (e *epoll) poll(fd int32, events uint32) int32 {
	*e.polled, *e.atOnce = unix.PollFd{Fd: fd, Events: int16(events)}, unix.Timespec{}
	result := e.call(
		unix.SYS_PPOLL, uintptr(unsafe.Pointer(e.polled)), 1, uintptr(unsafe.Pointer(e.atOnce)), 0, 0,
	)
	switch {
	case result < 0:
		return result
	case e.polled.Revents&unix.POLLNVAL != 0:
		return -int32(syscall.EBADF)
	case result == 0:
		return -int32(syscall.EAGAIN)
	}
	return int32(uint16(e.polled.Revents))
}
