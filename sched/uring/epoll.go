package uring

import (
	"container/heap"
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
	timers  epollTimers
	chains  [][]Entry       // what follows requests that have completed
	free    []*epollRequest // for use again

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
		staged:  make([]Entry, 0, 1<<bits.Len(uint(max(requests, longestChain)-1))),
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

// can says no to regular files: they work, but the thread waits for the disk.
func (e *epoll) can(a Ability) bool { return a == cancelAllOf }

// counts takes each system call for an enter, those by which requests are tried included.
func (e *epoll) counts() Stats { return e.count }

// room is how many requests can be staged before the next turn.
func (e *epoll) room() int { return cap(e.staged) - len(e.staged) }

func (e *epoll) stage(op Entry) bool {
	inChain, need := len(e.staged) > 0 && e.staged[len(e.staged)-1].How&linked != 0, 1
	if op.How&linked != 0 && !inChain {
		need = longestChain
	}
	if e.room() < need {
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
	if e.queued == 0 && len(e.timers) == 0 {
		return false
	}
	now := clock.Now()
	if e.timers.next() <= now {
		return true
	}
	if e.queued == 0 || now-e.looked < looksApart {
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
	e.expire()
	if len(e.done) > 0 {
		limit = 0
	}
	if due := e.timers.next(); due != clock.Never && limit != 0 {
		if left := time.Duration(max(due-clock.Now(), 0)); limit < 0 || left < limit {
			limit = left
		}
	}
	if e.found == 0 && (limit != 0 || e.queued > 0 && (len(e.done) == 0 || clock.Now()-e.looked >= looksApart)) {
		if err := e.wait(limit, idle); err != nil {
			return nil, err
		}
	}
	e.serve()
	e.expire()
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

// epollTimer is when something happens to a request.
type epollTimer struct {
	due     clock.Instant
	request *epollRequest // nil: the timer does not run
	place   int
}

// epollTimers are the timers that run, as a heap.
type epollTimers []*epollTimer

// after is when the time of op, a timeout or limit, has passed.
func after(op Entry) clock.Instant {
	if op.Offset > uint64(clock.Never) {
		return clock.Never
	}
	return clock.After(time.Duration(op.Offset))
}

// next is when the first timer is due.
func (t epollTimers) next() clock.Instant {
	if len(t) == 0 {
		return clock.Never
	}
	return t[0].due
}

func (t *epollTimers) start(timer *epollTimer, r *epollRequest, due clock.Instant) {
	timer.due, timer.request = due, r
	heap.Push(t, timer)
}

// stop stops a timer, if it runs.
func (t *epollTimers) stop(timer *epollTimer) {
	if timer.request != nil {
		heap.Remove(t, timer.place)
		timer.request = nil
	}
}

// Len implements heap.Interface.
func (t epollTimers) Len() int { return len(t) }

// Less implements heap.Interface.
func (t epollTimers) Less(i, j int) bool { return t[i].due < t[j].due }

// Swap implements heap.Interface.
func (t epollTimers) Swap(i, j int) {
	t[i], t[j] = t[j], t[i]
	t[i].place, t[j].place = i, j
}

// Push implements heap.Interface.
func (t *epollTimers) Push(x any) {
	timer := x.(*epollTimer)
	timer.place = len(*t)
	*t = append(*t, timer)
}

// Pop implements heap.Interface.
func (t *epollTimers) Pop() any {
	last := len(*t) - 1
	timer := (*t)[last]
	(*t)[last] = nil
	*t = (*t)[:last]
	return timer
}
