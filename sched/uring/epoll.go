package uring

import (
	"fmt"
	"math/bits"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"fiberlab/internal/clock"
)

// epoll is the proxy for kernels without io_uring. A turn tries each staged request at once, by a system call that does
// not block. If the kernel says "not now", the request waits in the list of its descriptor until epoll(7) says that
// another try is worth it:
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
	queued  int                      // how many of them are in lists of files
	files   []epollFile              // by descriptor
	free    []*epollRequest          // for use again

	events  []unix.EpollEvent
	found   int            // events that have not been served
	looked  clock.Instant  // when the kernel was last asked for some
	timeout *unix.Timespec // of the wait that is under way
	coarse  bool           // the kernel has no epoll_pwait2: waits are a whole number of milliseconds
	answers *answers

	count Stats
}

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
		answers: new(answers),
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

// can says no, to regular files as well: they work, but the thread waits for the disk.
func (e *epoll) can(Ability) bool { return false }

// counts takes each system call for an enter, those by which requests are tried included.
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

func (e *epoll) wake() {
	writeEvent(e.event)
}

// ready asks the kernel if that was not done lately. What it finds is for the next turn.
func (e *epoll) ready() bool {
	if len(e.staged) > 0 || e.found > 0 {
		return true
	}
	if e.queued == 0 || clock.Now()-e.looked < looksApart {
		return false
	}
	_ = e.wait(0, false) // the next turn meets the same error
	return e.found > 0
}

func (e *epoll) turn(limit time.Duration) ([]Completion, error) { return e.carryOut(limit, false) }

func (e *epoll) idle(limit time.Duration) ([]Completion, error) { return e.carryOut(limit, true) }

func (e *epoll) carryOut(limit time.Duration, idle bool) ([]Completion, error) {
	e.done = e.done[:0]
	e.submit()
	if len(e.done) > 0 {
		limit = 0
	}
	if e.found == 0 && (limit != 0 || e.queued > 0 && (len(e.done) == 0 || clock.Now()-e.looked >= looksApart)) {
		if err := e.wait(limit, idle); err != nil {
			return nil, err
		}
	}
	e.serve()
	e.count.Collected += uint64(len(e.done))
	return e.done, nil
}

// wait fetches events, and waits for the first one until limit has passed.
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
	set, events := uintptr(e.set), uintptr(unsafe.Pointer(&e.events[0]))
	switch {
	case limit == 0:
		n, _, errno = syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT, set, events, eventsAtATime, 0, 0, 0)
	case idle:
		n, errno = callWithoutP(call, set, events, eventsAtATime, timeout, 0, 0)
	default:
		n, _, errno = syscall.Syscall6(call, set, events, eventsAtATime, timeout, 0, 0)
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

// epollRequest is a request that waits for its descriptor.
type epollRequest struct {
	Entry
	events     uint32 // what it waits for, as epoll(7) has it
	prev, next *epollRequest
	inList     bool
}

// epollFile has the requests that wait for one descriptor, in the order in which they came.
type epollFile struct{ first, last *epollRequest }

// submit tries what is staged, and has wait what cannot be done now.
func (e *epoll) submit() {
	e.count.Submitted += uint64(len(e.staged))
	for _, op := range e.staged {
		if result, events := e.try(&op); events != 0 {
			e.park(op, events)
		} else {
			e.complete(op, result)
		}
	}
	e.staged = e.staged[:0]
}

func (e *epoll) complete(op Entry, result int32) {
	e.done = append(e.done, Completion{id: op.id, Result: result})
}

// park has a request wait.
func (e *epoll) park(op Entry, events uint32) {
	var r *epollRequest
	if n := len(e.free); n > 0 {
		r = e.free[n-1]
		e.free = e.free[:n-1]
	} else {
		r = new(epollRequest)
	}
	r.Entry, r.events = op, events
	e.waiting[r.id] = r
	if errno := e.enlist(r); errno != 0 {
		e.finish(r, -int32(errno))
	}
}

// enlist puts r into the list of its descriptor, and sees to it that epoll watches that. The error is that of
// epoll_ctl(2).
func (e *epoll) enlist(r *epollRequest) syscall.Errno {
	for int(r.FD) >= len(e.files) {
		e.files = append(e.files, make([]epollFile, max(64, len(e.files)))...)
	}
	f := &e.files[r.FD]
	// A descriptor may have been closed, and its number may be another file's by now: only the kernel knows.
	watch := unix.EpollEvent{Events: readable | unix.EPOLLOUT | unix.EPOLLET, Fd: r.FD}
	e.count.Enters++
	switch err := unix.EpollCtl(e.set, unix.EPOLL_CTL_ADD, int(r.FD), &watch); err {
	case nil: // it is new: those in the list wait for a file that is not there any more
		for f.first != nil {
			e.delist(f.first)
		}
	case syscall.EEXIST:
	case syscall.EPERM: // epoll knows no such files: what is not there now will not come
		return syscall.EINVAL
	default:
		return err.(syscall.Errno)
	}
	r.inList = true
	r.prev = f.last
	if f.last == nil {
		f.first = r
	} else {
		f.last.next = r
	}
	f.last = r
	e.queued++
	return 0
}

// delist takes r out of the list of its descriptor.
func (e *epoll) delist(r *epollRequest) {
	f := &e.files[r.FD]
	if r.prev == nil {
		f.first = r.next
	} else {
		r.prev.next = r.next
	}
	if r.next == nil {
		f.last = r.prev
	} else {
		r.next.prev = r.prev
	}
	r.prev, r.next, r.inList = nil, nil, false
	e.queued--
}

// finish completes a request that has waited.
func (e *epoll) finish(r *epollRequest, result int32) {
	delete(e.waiting, r.id)
	if r.inList {
		e.delist(r)
	}
	e.complete(r.Entry, result)
	*r = epollRequest{}
	e.free = append(e.free, r)
}

// serve tries again what waits for the files that the kernel has named.
func (e *epoll) serve() {
	for _, event := range e.events[:e.found] {
		if event.Fd == int32(e.event) {
			e.count.Wakes++
		} else if int(event.Fd) < len(e.files) {
			e.tryAgain(&e.files[event.Fd], event.Events)
		}
	}
	e.found = 0
}

// tryAgain tries what waits for f. Where a request finds that it is still too early, those behind it that wait for the
// same need not try.
func (e *epoll) tryAgain(f *epollFile, events uint32) {
	if events&(unix.EPOLLERR|unix.EPOLLHUP) != 0 {
		events = ^uint32(0)
	}
	early := uint32(0)
	for r := f.first; r != nil; {
		next := r.next
		if r.events&events&^early != 0 {
			result, still := e.try(&r.Entry)
			if still == 0 {
				e.finish(r, result)
			}
			early |= still & (unix.EPOLLIN | unix.EPOLLOUT)
		}
		r = next
	}
}

// cancel ends the request of that number.
func (e *epoll) cancel(id uint64) int32 {
	r := e.waiting[id]
	if r == nil {
		return -int32(syscall.ENOENT)
	}
	e.finish(r, -int32(syscall.ECANCELED))
	return 0
}
