package uring

/*
#cgo CFLAGS: -O2 -Wall -Wextra
#cgo LDFLAGS: -Wl,-Bstatic -luring -Wl,-Bdynamic
#cgo noescape fiberlab_ring_turn
#cgo nocallback fiberlab_ring_turn
#include "ring.h"
*/
import "C"

import (
	"math/bits"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"fiberlab/internal/clock"
	"fiberlab/internal/thread"
)

// ring is the proxy of an io_uring; ring.h says how it works.
type ring struct {
	c       *C.struct_fiberlab_ring
	staged  []Entry
	done    []Completion
	event   int
	batch   batch
	buffers *Buffers // nil: none
	has     uint32   // FIBERLAB_HAS_*

	// The kernel's counters, in memory that it shares.
	collected *uint32 // completions that have been collected: only this thread changes it
	completed *uint32 // completions so far: the kernel changes it
	flags     *uint32 // ringTaskWork, ringOverflow
}

// Entry is a staged request, as struct fiberlab_request in ring.h.
type Entry struct {
	id     uint64
	Offset uint64
	Addr   uintptr
	Length uint32
	FD     int32
	Flags  uint32
	Op     Op
	How    How
}

// OwnPosition, as an offset, is the position that the kernel holds for an open file.
const OwnPosition = -1

// MostAtOnce is how many bytes one operation transfers at most. The kernel would cut more anyway.
const MostAtOnce = 1 << 30

// Completion is what became of a request, as struct fiberlab_done in ring.h.
type Completion struct {
	id     uint64
	Result int32
	Flags  uint32
}

// Op is what a request does.
type Op uint16

const (
	OpNop     Op = C.FIBERLAB_NOP
	OpRead    Op = C.FIBERLAB_READ
	OpWrite   Op = C.FIBERLAB_WRITE
	OpOpen    Op = C.FIBERLAB_OPEN
	OpClose   Op = C.FIBERLAB_CLOSE
	OpAccept  Op = C.FIBERLAB_ACCEPT
	OpSend    Op = C.FIBERLAB_SEND
	OpReceive Op = C.FIBERLAB_RECEIVE
	OpPoll    Op = C.FIBERLAB_POLL
	OpCancel  Op = C.FIBERLAB_CANCEL
)

// How is a set of bits. Multishot: the request may complete many times. Provided: the kernel takes one of its buffers.
type How uint16

const (
	Multishot How = C.FIBERLAB_MULTISHOT
	Provided  How = C.FIBERLAB_PROVIDED
)

const (
	MoreToCome = C.IORING_CQE_F_MORE // a flag of a completion

	ringTaskWork = C.IORING_SQ_TASKRUN
	ringOverflow = C.IORING_SQ_CQ_OVERFLOW

	setupDeferTaskrun = C.IORING_SETUP_DEFER_TASKRUN
	setupSingleIssuer = C.IORING_SETUP_SINGLE_ISSUER
	setupCoopTaskrun  = C.IORING_SETUP_COOP_TASKRUN
)

// More reports whether the request will complete again.
func (c Completion) More() bool { return c.Flags&MoreToCome != 0 }

// Err is the error by which the request has failed, or nil.
func (c Completion) Err() error {
	if c.Result < 0 {
		return syscall.Errno(-c.Result)
	}
	return nil
}

// openRing opens a ring of the calling thread, with room for that many staged requests, rounded up to a power of two.
// The ring has none of the IORING_SETUP flags in without. The error is one of explain.
func openRing(requests int, without uint32) (*ring, error) {
	entries := uint(1) << bits.Len(uint(max(requests, 1)-1))
	var c *C.struct_fiberlab_ring
	if result := C.fiberlab_ring_open(&c, C.unsigned(entries), C.unsigned(without)); result < 0 {
		return nil, explain("io_uring_setup", syscall.Errno(-result))
	}
	if result := C.fiberlab_ring_try(c); result < 0 {
		C.fiberlab_ring_close(c)
		return nil, explain("io_uring_enter", syscall.Errno(-result))
	}
	has := uint32(C.fiberlab_ring_features(c))
	if has&C.FIBERLAB_HAS_OPS == 0 {
		C.fiberlab_ring_close(c)
		return nil, explain("io_uring_register", syscall.EPERM)
	}
	return &ring{
		c:         c,
		has:       has,
		staged:    unsafe.Slice((*Entry)(unsafe.Pointer(c.staged)), int(c.staged_size)),
		done:      unsafe.Slice((*Completion)(unsafe.Pointer(c.done)), int(c.done_size)),
		event:     int(c.event_fd),
		collected: (*uint32)(unsafe.Pointer(c.uring.cq.khead)),
		completed: (*uint32)(unsafe.Pointer(c.uring.cq.ktail)),
		flags:     (*uint32)(unsafe.Pointer(c.uring.sq.kflags)),
	}, nil
}

// close ends the ring. The kernel may cancel what is under way only after the call: see fiberlab_ring_close.
func (r *ring) close() {
	C.fiberlab_ring_close(r.c)
	if r.buffers != nil {
		r.buffers.letGo()
	}
	r.c, r.staged, r.done = nil, nil, nil
}

func (r *ring) can(a Ability) bool {
	switch a {
	case AcceptMany:
		return r.has&C.FIBERLAB_HAS_MULTISHOT_ACCEPT != 0
	case ReceiveMany:
		return r.has&C.FIBERLAB_HAS_MULTISHOT_RECEIVE != 0 && r.has&C.FIBERLAB_HAS_BUFFER_RING != 0
	case Files:
		return true
	}
	return false
}

// setup returns the IORING_SETUP flags of the ring.
func (r *ring) setup() uint32 { return uint32(r.c.uring.flags) }

func (r *ring) stage(e Entry) bool {
	n := r.c.staged_count
	if int(n) == len(r.staged) {
		return false
	}
	r.staged[n] = e
	r.c.staged_count = n + 1
	return true
}

func (r *ring) turn(limit time.Duration) ([]Completion, error) {
	more, moreLimit, wakes := 0, time.Duration(0), r.c.wakes
	if limit != 0 {
		more, moreLimit = r.batch.plan()
	}
	if result := C.fiberlab_ring_turn(r.c, C.int64_t(limit), C.unsigned(more), C.int64_t(moreLimit)); result < 0 {
		return nil, syscall.Errno(-result)
	}
	done := r.done[:r.c.done_count]
	if limit != 0 {
		r.batch.came(done, int(r.c.prompt), clock.Now())
		if r.c.wakes != wakes {
			r.batch.rate /= 3 // another thread may wake it again, and that must not be late
		}
	}
	return done, nil
}

// toSubmit reports whether there is anything that the next turn has to submit.
func (r *ring) toSubmit() bool { return r.c.staged_count > 0 || r.c.refused > 0 }

func (r *ring) ready() bool {
	return r.toSubmit() || atomic.LoadUint32(r.completed) != *r.collected ||
		atomic.LoadUint32(r.flags)&(ringTaskWork|ringOverflow) != 0
}

func (r *ring) wake() { writeEvent(r.event) }

// idle makes a turn, waits if that leaves nothing to do, and makes another one. During the wait the thread has no P.
func (r *ring) idle(limit time.Duration) ([]Completion, error) {
	wakes := r.c.wakes
	done, err := r.turn(0)
	// If this turn has collected a wake-up, or does not watch for one, idle must not wait: no wake-up would end the wait.
	if len(done) > 0 || err != nil || r.c.wakes != wakes || r.c.event_seen == 0 || r.toSubmit() {
		return done, err
	}
	C.fiberlab_ring_limit(r.c, C.int64_t(limit))
	r.c.enters++
	fd, flags := uintptr(r.c.uring.enter_ring_fd), uintptr(C.IORING_ENTER_GETEVENTS|C.IORING_ENTER_EXT_ARG)
	if r.c.registered != 0 {
		flags |= C.IORING_ENTER_REGISTERED_RING
	}
	a := &r.c.wait_arg
	_, _ = thread.CallWithoutP(unix.SYS_IO_URING_ENTER, fd, 0, 1, flags, uintptr(unsafe.Pointer(a)), unsafe.Sizeof(*a))
	return r.turn(0)
}

func (r *ring) counts() Stats {
	return Stats{uint64(r.c.enters), uint64(r.c.submitted), uint64(r.c.collected), uint64(r.c.wakes), 0}
}

// Go uses structs of C as Entry and Completion: if a size or an offset differs, the program does not compile.
const (
	_ = -(unsafe.Sizeof(Entry{}) ^ unsafe.Sizeof(C.struct_fiberlab_request{}))
	_ = -(unsafe.Offsetof(Entry{}.How) ^ unsafe.Offsetof(C.struct_fiberlab_request{}.how))
	_ = -(unsafe.Offsetof(Entry{}.Op) ^ unsafe.Offsetof(C.struct_fiberlab_request{}.op))
	_ = -(unsafe.Offsetof(Entry{}.FD) ^ unsafe.Offsetof(C.struct_fiberlab_request{}.fd))
	_ = -(unsafe.Sizeof(Completion{}) ^ unsafe.Sizeof(C.struct_fiberlab_done{}))
	_ = -(unsafe.Offsetof(Completion{}.Flags) ^ unsafe.Offsetof(C.struct_fiberlab_done{}.flags))
)

// batch decides for how many completions a wait waits. If they come quickly and each one wakes the thread, the thread
// sleeps and wakes for each, and hands the kernel one request at a time. If they come slowly, a wait for more than one
// only delays the first.
//
// So batch measures how quickly they come, and for how many requests. About so many callers wait for answers. If the
// thread waits for a small part of these answers, each caller waits only a little longer. The zero value asks for no
// more than the first completion.
type batch struct {
	rate int // completions in shortLimit, times rateUnit: a moving average
	last clock.Instant

	active  int      // requests that had completions in the last interval
	seen    []uint64 // a bit for each request that had completions in the present interval
	counted int      // how many bits of seen are set
	began   clock.Instant
}

const (
	// shortLimit is how long a wait for more than one completion takes at most if no more than fewRequests are active.
	// With more active requests the limit grows in proportion, up to longLimit. A thread that wakes too soon competes
	// with those that are about to bring the rest.
	shortLimit  = 200 * time.Microsecond
	fewRequests = 50
	longLimit   = 480 * time.Microsecond

	largestBatch   = 64
	rateUnit       = 256
	activeInterval = clock.Instant(10 * time.Millisecond)
)

// plan returns how many completions to wait for, beside those that the submitted requests bring at once, and for how
// long at most. If more is 0, the turn waits for the first one. A wake-up by another thread may come that much later.
func (b *batch) plan() (more int, limit time.Duration) {
	limit = min(max(shortLimit, shortLimit*time.Duration(b.active)/fewRequests), longLimit)
	more = b.rate * int(limit) / int(shortLimit) / rateUnit
	return min(more, b.active/4, largestBatch), limit
}

// came notes a wait that has ended now with done. prompt requests of its turn were to complete at once.
func (b *batch) came(done []Completion, prompt int, now clock.Instant) {
	since := max(now-b.last, clock.Instant(shortLimit/rateUnit))
	b.last = now
	b.rate += (max(0, len(done)-prompt)*rateUnit*int(shortLimit)/int(since) - b.rate) / 4
	b.count(done)
	if now-b.began > activeInterval {
		b.active, b.counted, b.began = b.counted, 0, now
		clear(b.seen)
	}
}

// count adds the requests of done to counted, each at most once in an interval.
func (b *batch) count(done []Completion) {
	for _, c := range done {
		slot := uint32(c.id) // of the engine's table: small numbers
		word, bit := int(slot/64), uint64(1)<<(slot%64)
		if word >= len(b.seen) {
			b.seen = append(b.seen, make([]uint64, 1<<bits.Len(uint(word))-len(b.seen))...)
		}
		if b.seen[word]&bit == 0 {
			b.seen[word] |= bit
			b.counted++
		}
	}
}
