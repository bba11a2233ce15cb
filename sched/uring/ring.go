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
	"fmt"
	"math/bits"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"fiberlab/internal/clock"
)

// ring is the proxy of an io_uring; ring.h says how it works.
type ring struct {
	c       *C.struct_fiberlab_ring
	staged  []entry
	done    []completion
	event   int
	batch   batch
	buffers *buffers // nil: none
	has     uint32   // FIBERLAB_HAS_*

	inChain bool // the request that was staged last is linked to the next one

	// The kernel's counters, in memory that it shares.
	collected *uint32 // completions that have been collected: only this thread changes it
	completed *uint32 // that there have been
	flags     *uint32 // ringTaskWork, ringOverflow
}

// entry is a staged request, as struct fiberlab_request in ring.h.
type entry struct {
	id     uint64
	offset uint64
	addr   uintptr
	length uint32
	fd     int32
	flags  uint32
	group  uint16
	op     op
	how    how
}

// completion is what became of a request, as struct fiberlab_done in ring.h.
type completion struct {
	id     uint64
	result int32
	flags  uint32
}

// op is what a request does.
type op uint8

const (
	opNop       op = C.FIBERLAB_NOP
	opRead      op = C.FIBERLAB_READ
	opWrite     op = C.FIBERLAB_WRITE
	opOpen      op = C.FIBERLAB_OPEN
	opClose     op = C.FIBERLAB_CLOSE
	opSync      op = C.FIBERLAB_SYNC
	opAccept    op = C.FIBERLAB_ACCEPT
	opConnect   op = C.FIBERLAB_CONNECT
	opSend      op = C.FIBERLAB_SEND
	opReceive   op = C.FIBERLAB_RECEIVE
	opShutdown  op = C.FIBERLAB_SHUTDOWN
	opPoll      op = C.FIBERLAB_POLL
	opTimeout   op = C.FIBERLAB_TIMEOUT
	opLimit     op = C.FIBERLAB_LIMIT
	opCancel    op = C.FIBERLAB_CANCEL
	opCancelAll op = C.FIBERLAB_CANCEL_FD
)

// how is a set of ways in which a request is carried out.
type how uint8

const (
	multishot how = C.FIBERLAB_MULTISHOT
	linked    how = C.FIBERLAB_LINKED
	quiet     how = C.FIBERLAB_QUIET
	provided  how = C.FIBERLAB_PROVIDED
	direct    how = C.FIBERLAB_DIRECT
	always    how = C.FIBERLAB_ALWAYS
	waiting   how = C.FIBERLAB_WAITING
)

// moreToCome is a flag of a completion.
const moreToCome = C.IORING_CQE_F_MORE

const (
	ringTaskWork = C.IORING_SQ_TASKRUN
	ringOverflow = C.IORING_SQ_CQ_OVERFLOW

	setupDeferTaskrun = C.IORING_SETUP_DEFER_TASKRUN
	setupSingleIssuer = C.IORING_SETUP_SINGLE_ISSUER
	setupCoopTaskrun  = C.IORING_SETUP_COOP_TASKRUN
)

// more tells whether the request will complete again.
func (c completion) more() bool { return c.flags&moreToCome != 0 }

// err is the error by which the request has failed, or nil.
func (c completion) err() error {
	if c.result < 0 {
		return syscall.Errno(-c.result)
	}
	return nil
}

// openRing opens a ring of the calling thread for that many staged requests, rounded up to a power of two, without
// the set-up flags of without. It returns an error of explain.
func openRing(requests int, without uint32) (*ring, error) {
	entries := uint(1) << bits.Len(uint(max(requests, longestChain)-1))
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
		staged:    unsafe.Slice((*entry)(unsafe.Pointer(c.staged)), int(c.staged_size)),
		done:      unsafe.Slice((*completion)(unsafe.Pointer(c.done)), int(c.done_size)),
		event:     int(c.event_fd),
		collected: (*uint32)(unsafe.Pointer(c.uring.cq.khead)),
		completed: (*uint32)(unsafe.Pointer(c.uring.cq.ktail)),
		flags:     (*uint32)(unsafe.Pointer(c.uring.sq.kflags)),
	}, nil
}

// close may wait for what cannot be cancelled.
func (r *ring) close() {
	C.fiberlab_ring_close(r.c)
	if r.buffers != nil {
		r.buffers.letGo()
	}
	r.c, r.staged, r.done = nil, nil, nil
}

func (r *ring) can(a ability) bool {
	switch a {
	case acceptMany:
		return r.has&C.FIBERLAB_HAS_MULTISHOT_ACCEPT != 0
	case receiveMany:
		return r.has&C.FIBERLAB_HAS_MULTISHOT_RECEIVE != 0 && r.has&C.FIBERLAB_HAS_BUFFER_RING != 0
	case cancelAllOf:
		return r.has&C.FIBERLAB_HAS_CANCEL_FD != 0
	case regularFiles:
		return true
	case directFiles:
		return r.has&C.FIBERLAB_HAS_DIRECT != 0
	}
	return false
}

// setup returns the IORING_SETUP flags of the ring.
func (r *ring) setup() uint32 { return uint32(r.c.uring.flags) }

// room is how many requests can be staged before the next turn.
func (r *ring) room() int { return len(r.staged) - int(r.c.staged_count) }

func (r *ring) stage(e entry) bool {
	n := r.c.staged_count
	need := 1
	if e.how&linked != 0 && !r.inChain {
		need = longestChain
	}
	if int(n)+need > len(r.staged) {
		return false
	}
	r.inChain = e.how&linked != 0
	r.staged[n] = e
	r.c.staged_count = n + 1
	return true
}

// openSlots makes a table of that many slots for files. It may be called once. The error is the kernel's.
func (r *ring) openSlots(count int) error {
	if result := C.fiberlab_ring_slots(r.c, C.unsigned(count)); result < 0 {
		return fmt.Errorf("sched/uring: %d slots for files: %w", count, syscall.Errno(-result))
	}
	return nil
}

func (r *ring) turn(limit time.Duration) ([]completion, error) {
	more, moreLimit := 0, time.Duration(0)
	if limit != 0 {
		more, moreLimit = r.batch.plan()
	}
	if result := C.fiberlab_ring_turn(r.c, C.int64_t(limit), C.unsigned(more), C.int64_t(moreLimit)); result < 0 {
		return nil, syscall.Errno(-result)
	}
	done := r.done[:r.c.done_count]
	if limit != 0 {
		r.batch.came(done, int(r.c.prompt), clock.Now())
	}
	return done, nil
}

// toSubmit tells whether there is anything that the next turn has to submit.
func (r *ring) toSubmit() bool { return r.c.staged_count > 0 || r.c.refused > 0 }

func (r *ring) ready() bool {
	return r.toSubmit() || atomic.LoadUint32(r.completed) != *r.collected ||
		atomic.LoadUint32(r.flags)&(ringTaskWork|ringOverflow) != 0
}

func (r *ring) wake() {
	writeEvent(r.event)
}

// idle crosses into C twice, and waits in between.
func (r *ring) idle(limit time.Duration) ([]completion, error) {
	wakes := r.c.wakes
	// A wake-up that this turn collects would otherwise end no wait: it has been used up.
	if done, err := r.turn(0); len(done) > 0 || err != nil || r.c.wakes != wakes || r.toSubmit() {
		return done, err
	}
	C.fiberlab_ring_limit(r.c, C.int64_t(limit))
	r.c.enters++
	fd, flags := uintptr(r.c.uring.enter_ring_fd), uintptr(C.IORING_ENTER_GETEVENTS|C.IORING_ENTER_EXT_ARG)
	if r.c.registered != 0 {
		flags |= C.IORING_ENTER_REGISTERED_RING
	}
	_, _ = callWithoutP(
		unix.SYS_IO_URING_ENTER, fd, 0, 1, flags, uintptr(unsafe.Pointer(&r.c.wait_arg)), unsafe.Sizeof(r.c.wait_arg),
	)
	return r.turn(0)
}

func (r *ring) counts() Stats {
	return Stats{uint64(r.c.enters), uint64(r.c.submitted), uint64(r.c.collected), uint64(r.c.wakes)}
}
