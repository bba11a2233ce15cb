package uring

import (
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"fiberlab/internal/clock"
)

// epollRequest is a request that waits for its descriptor, or for time to pass.
type epollRequest struct {
	Entry
	events     uint32 // what it waits for, as epoll(7) has it; 0: time
	prev, next *epollRequest
	inList     bool

	limited bool // by limit
	limit   Entry
	chain   []Entry // what follows when it has completed

	own, limitTimer epollTimer // of opTimeout, and of limit
}

// epollFile has the requests that wait for one descriptor, in the order in which they came.
type epollFile struct {
	first, last *epollRequest
	added       bool // to the set, as far as is known
}

// submit begins what is staged.
func (e *epoll) submit() {
	e.count.Submitted += uint64(len(e.staged))
	for rest := e.staged; len(rest) > 0; {
		end := 1
		for end < len(rest) && rest[end-1].How&linked != 0 {
			end++
		}
		e.begin(rest[:end])
		rest = rest[end:]
	}
	e.staged = e.staged[:0]
	e.goOn()
}

// goOn begins what follows requests that have completed.
func (e *epoll) goOn() {
	for len(e.chains) > 0 {
		chain := e.chains[len(e.chains)-1]
		e.chains = e.chains[:len(e.chains)-1]
		e.begin(chain)
	}
}

// begin carries out a chain of linked requests, up to the first request that has to wait.
func (e *epoll) begin(chain []Entry) {
	for len(chain) > 0 {
		op, rest := chain[0], chain[1:]
		var limit []Entry
		if len(rest) > 0 && rest[0].Op == OpLimit {
			limit, rest = rest[:1], rest[1:]
		}
		result, events := e.try(&op, false)
		if events != 0 || op.Op == OpTimeout {
			e.park(op, events, limit, rest)
			return
		}
		e.complete(op, result)
		e.cancelChain(limit)
		if breaksChain(op, result) {
			e.cancelChain(rest)
			return
		}
		chain = rest
	}
}

// breaksChain tells whether the requests that are linked to this one are not carried out.
func breaksChain(op Entry, result int32) bool {
	if op.How&always != 0 {
		return false
	}
	return result < 0 || (op.Op == OpRead || op.Op == OpWrite) && uint32(result) < op.Length
}

func (e *epoll) cancelChain(chain []Entry) {
	for _, op := range chain {
		e.complete(op, -int32(syscall.ECANCELED))
	}
}

func (e *epoll) complete(op Entry, result int32) {
	if op.How&quiet == 0 || result < 0 {
		e.done = append(e.done, Completion{id: op.id, Result: result})
	}
}

// park has a request wait.
func (e *epoll) park(op Entry, events uint32, limit, chain []Entry) {
	r := e.take()
	r.Entry, r.events, r.chain = op, events, slices.Clone(chain)
	e.waiting[r.id] = r
	if len(limit) > 0 {
		r.limited, r.limit = true, limit[0]
		e.timers.start(&r.limitTimer, r, after(r.limit))
	}
	if op.Op == OpTimeout {
		e.timers.start(&r.own, r, after(op))
		return
	}
	if errno := e.enlist(r); errno != 0 {
		e.finish(r, -int32(errno))
	}
}

// take returns an empty request.
func (e *epoll) take() *epollRequest {
	if n := len(e.free); n > 0 {
		r := e.free[n-1]
		e.free = e.free[:n-1]
		return r
	}
	return new(epollRequest)
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
	f.added = true
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

// finish completes a request that has waited. What follows it begins with goOn.
func (e *epoll) finish(r *epollRequest, result int32) {
	delete(e.waiting, r.id)
	if r.inList {
		e.delist(r)
	}
	e.timers.stop(&r.own)
	e.complete(r.Entry, result)
	if r.limited {
		e.timers.stop(&r.limitTimer)
		e.complete(r.limit, -int32(syscall.ECANCELED))
	}
	if breaksChain(r.Entry, result) {
		e.cancelChain(r.chain)
	} else if len(r.chain) > 0 {
		e.chains = append(e.chains, r.chain)
	}
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
	e.goOn()
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
			result, still := e.try(&r.Entry, true)
			if still == 0 {
				e.finish(r, result)
			}
			early |= still & (unix.EPOLLIN | unix.EPOLLOUT)
		}
		r = next
	}
}

// expire ends what has waited for time to pass, or for too long.
func (e *epoll) expire() {
	if len(e.timers) == 0 {
		return
	}
	for now := clock.Now(); e.timers.next() <= now; {
		r := e.timers[0].request
		if e.timers[0] == &r.own {
			e.finish(r, -int32(syscall.ETIME))
			continue
		}
		e.timers.stop(&r.limitTimer)
		r.limited = false
		e.complete(r.limit, -int32(syscall.ETIME))
		e.finish(r, -int32(syscall.ECANCELED))
	}
	e.goOn()
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

// cancelAll ends all requests that wait for a descriptor, forgets it, and returns how many they were.
func (e *epoll) cancelAll(fd int32) (n int32) {
	if fd < 0 || int(fd) >= len(e.files) {
		return 0
	}
	f := &e.files[fd]
	for ; f.first != nil; n++ {
		e.finish(f.first, -int32(syscall.ECANCELED))
	}
	if f.added {
		f.added = false
		e.count.Enters++
		_ = unix.EpollCtl(e.set, unix.EPOLL_CTL_DEL, int(fd), nil) // it may be closed
	}
	return n
}
