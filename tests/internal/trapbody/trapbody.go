// Package trapbody has the C side of the tests of traps: ways from C into Go,
// bodies that crash, threads made by C, and memory that runs out.
package trapbody

/*
#cgo CFLAGS: -O2 -Wall -Wextra -Wno-unused-parameter
#cgo LDFLAGS: -ldl
#include <stdlib.h>
#include "trapbody.h"
*/
import "C"

import (
	"errors"
	"runtime/cgo"
	"syscall"
	"unsafe"
)

//export trapbodyGo
func trapbodyGo(callback C.uintptr_t) { cgo.Handle(callback).Value().(func())() }

// Call has a C function call f.
func Call(f func()) {
	h := cgo.NewHandle(f)
	defer h.Delete()
	C.trap_call(C.uintptr_t(h))
}

// Nest calls f through depth C functions, each of which calls Go.
func Nest(depth int, f func()) {
	if depth == 0 {
		f()
		return
	}
	Call(func() { Nest(depth-1, f) })
}

// CallDeep has a C function call f from a frame of that many bytes. It reports whether the frame was intact when f had
// returned.
func CallDeep(bytes int, f func()) bool {
	h := cgo.NewHandle(f)
	defer h.Delete()
	return C.trap_call_deep(C.size_t(bytes), C.uintptr_t(h)) == 1
}

// CallOnThread calls f on a new thread that C makes, and waits until the thread
// has ended.
func CallOnThread(f func()) error {
	h := cgo.NewHandle(f)
	defer h.Delete()
	if errno := C.trap_call_on_thread(C.uintptr_t(h)); errno != 0 {
		return syscall.Errno(errno)
	}
	return nil
}

// CallBody returns a C body, and the argument for it, that calls f. free must be
// called when the fiber is closed.
func CallBody(f func()) (body, argument unsafe.Pointer, free func()) {
	h := cgo.NewHandle(f)
	argument = C.malloc(C.size_t(unsafe.Sizeof(h)))
	*(*cgo.Handle)(argument) = h
	return unsafe.Pointer(C.trap_call_body), argument, func() {
		C.free(argument)
		h.Delete()
	}
}

// stackBound is the C function by which the runtime, while it lends an M, asks for the bounds of the borrower's stack.
//
//go:linkname stackBound _cgo_getstackbound
var stackBound unsafe.Pointer

// MarkLent has each M that is lent to C from now on marked at that moment as having a signal on its way, as the runtime
// does. No signal comes.
func MarkLent() { stackBound = C.trap_mark_lent(stackBound) }

// Marked counts the Ms that were marked.
func Marked() uint64 { return uint64(C.trap_marked()) }

// GlibcAnswers counts how often glibc was asked for the bounds of a thread's stack.
func GlibcAnswers() uint64 { return uint64(C.trap_glibc_answers()) }

// FiberAnswers counts how often the runtime was told the bounds of a fiber's stack.
func FiberAnswers() uint64 { return uint64(C.trap_fiber_answers()) }

// Laps is what a body of LapBody is told and what it answers.
type Laps C.struct_trap_laps

// NewLaps returns an order for a body that switches to peer, laps times. It lies
// in C memory; free it when the fiber is closed.
func NewLaps(peer unsafe.Pointer, laps int) *Laps {
	l := (*Laps)(C.calloc(1, C.size_t(unsafe.Sizeof(Laps{}))))
	l.peer, l.laps = peer, C.int64_t(laps)
	return l
}

// SetPeer changes the fiber that the body switches to. Call it before the body begins.
func (l *Laps) SetPeer(peer unsafe.Pointer) { l.peer = peer }

// Argument returns l as the argument of the body.
func (l *Laps) Argument() unsafe.Pointer { return unsafe.Pointer(l) }

// Done returns how many switches came back.
func (l *Laps) Done() int { return int(l.done) }

// Broken returns how many of its words and switches the body found broken.
func (l *Laps) Broken() int { return int(l.broken) }

// Free frees l.
func (l *Laps) Free() { C.free(unsafe.Pointer(l)) }

// LapBody returns the C body for Laps. It never calls Go.
func LapBody() unsafe.Pointer { return unsafe.Pointer(C.trap_lap_body) }

// Blocked returns the blocked signals of the calling thread, 1<<N for signal N.
func Blocked() uint64 { return uint64(C.trap_blocked()) }

// Block changes the mask of the calling thread for one signal.
func Block(how int, signal syscall.Signal) error {
	if errno := C.trap_block(C.int(how), C.int(signal)); errno != 0 {
		return syscall.Errno(errno)
	}
	return nil
}

// HasAlternateStack reports whether the calling thread has an alternate signal stack.
func HasAlternateStack() bool { return C.trap_alternate_stack() == 1 }

// KeepRegisters copies the registers of the calling thread into its thread-local storage, twice.
func KeepRegisters() error {
	if C.trap_keep_registers() != 0 {
		return errors.New("getcontext failed")
	}
	return nil
}

// OverflowBody returns a C body that recurses without end.
func OverflowBody() unsafe.Pointer { return unsafe.Pointer(C.trap_overflow) }

// NilBody returns a C body that writes to address 0.
func NilBody() unsafe.Pointer { return unsafe.Pointer(C.trap_nil) }

// FaultBodies returns a C body for each signal by which C code ends a program, by the signal's name.
func FaultBodies() map[string]unsafe.Pointer {
	return map[string]unsafe.Pointer{
		"SIGSEGV": unsafe.Pointer(C.trap_nil),
		"SIGBUS":  unsafe.Pointer(C.trap_bus),
		"SIGFPE":  unsafe.Pointer(C.trap_divide),
		"SIGILL":  unsafe.Pointer(C.trap_illegal),
		"SIGTRAP": unsafe.Pointer(C.trap_breakpoint),
		"SIGABRT": unsafe.Pointer(C.trap_abort),
	}
}

// NilAfterGoBody is NilBody for a body that first calls Go, with the argument of a CallBody.
func NilAfterGoBody() unsafe.Pointer { return unsafe.Pointer(C.trap_nil_after_go) }

// Overflow recurses in C without end.
func Overflow() { C.trap_overflow(nil) }

// Nil writes to address 0 in C.
func Nil() { C.trap_nil(nil) }

// ReturnFromTarget enters a bare context of package asm whose target returns.
func ReturnFromTarget() { C.trap_return_from_target() }

// Edge is what a body of EdgeBody or StepBody is told: the fiber to switch to, where its stack
// ends, and how many bytes from there.
type Edge C.struct_trap_edge

// NewEdge returns an order in C memory.
func NewEdge(peer unsafe.Pointer, left uintptr) *Edge {
	e := (*Edge)(C.calloc(1, C.size_t(unsafe.Sizeof(Edge{}))))
	e.peer, e.left = peer, C.size_t(left)
	return e
}

// SetLo sets where the body's stack ends. Call it before the body begins.
func (e *Edge) SetLo(lo uintptr) { e.lo = C.uintptr_t(lo) }

// Argument returns e as the argument of the body.
func (e *Edge) Argument() unsafe.Pointer { return unsafe.Pointer(e) }

// EdgeBody returns the C body that switches with so many bytes of its stack left.
func EdgeBody() unsafe.Pointer { return unsafe.Pointer(C.trap_edge_body) }

// StepBody returns the C body that writes so many bytes below its stack.
func StepBody() unsafe.Pointer { return unsafe.Pointer(C.trap_step_body) }

// Spill has C fill that many words of its stack with secret, and leave them there.
func Spill(words int, secret uint64) { C.trap_spill(C.size_t(words), C.uint64_t(secret)) }

// Count returns how many of the words at address lo are secret.
func Count(lo uintptr, words int, secret uint64) int {
	return int(C.trap_count(C.uintptr_t(lo), C.size_t(words), C.uint64_t(secret)))
}

// SpillBody returns a C body that does what Spill does, and the argument for it. free must be
// called when the fiber is closed.
func SpillBody(words int, secret uint64) (body, argument unsafe.Pointer, free func()) {
	order := (*C.struct_trap_spill)(C.malloc(C.sizeof_struct_trap_spill))
	order.words, order.secret = C.size_t(words), C.uint64_t(secret)
	return unsafe.Pointer(C.trap_spill_body), unsafe.Pointer(order), func() { C.free(unsafe.Pointer(order)) }
}

// Ration lets that many calls of aligned_alloc succeed, or all if it is negative.
func Ration(calls int) { C.trap_ration(C.int64_t(calls)) }

// Refusals counts the calls of aligned_alloc that did not succeed.
func Refusals() uint64 { return uint64(C.trap_refusals()) }
