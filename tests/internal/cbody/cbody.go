// Package cbody has the C side of the suites: bodies for fiber.NewC, and C
// functions for Go functions to call.
package cbody

/*
#cgo CFLAGS: -O2 -Wall -Wextra -Wno-unused-parameter -fno-omit-frame-pointer -fasynchronous-unwind-tables
#include <stdlib.h>
#include "cbody.h"
*/
import "C"

import (
	"fmt"
	"runtime/cgo"
	"unsafe"
)

// The bodies, for fiber.NewC. Each takes the Pointer of an Order, except the last two.
var (
	Return    = unsafe.Pointer(C.cbody_return)    // returns at once
	Turns     = unsafe.Pointer(C.cbody_turns)     // switches to Peer, Turns times
	Deep      = unsafe.Pointer(C.cbody_deep)      // the same from below Depth bytes of frames, or calls Callback there
	Call      = unsafe.Pointer(C.cbody_call)      // calls Callback, Turns times
	Round     = unsafe.Pointer(C.cbody_round)     // sets rounding mode Mode, then switches to Peer, Turns times
	Backtrace = unsafe.Pointer(C.cbody_backtrace) // answers its frames by backtrace(3)
	Walk      = unsafe.Pointer(C.cbody_walk)      // answers its frames by frame pointers
	Nothing   = unsafe.Pointer(C.cbody_nothing)   // returns at once; takes nil
	Hold      = unsafe.Pointer(C.cbody_hold)      // switches once to the fiber whose Handle it takes
)

// Order tells one body what to do, and holds its answer. It may be read and
// changed only while the body does not run.
type Order struct{ c *C.struct_cbody_order }

// Task is what an Order is made from.
type Task struct {
	Peer     unsafe.Pointer // a fiber's Handle
	Turns    int
	Depth    int // bytes
	Mode     RoundingMode
	Callback func()
}

// Answer is what a body found.
type Answer struct {
	Done       int            // switches that came back, or calls
	Broken     int            // values in registers or on the stack that had changed meanwhile
	Code       int            // the last code of fiberlab_switch that was not 0
	Self       unsafe.Pointer // what fiberlab_current said last
	ModeBefore RoundingMode
	ModeAfter  RoundingMode
	Frames     []uintptr // return addresses, innermost first
}

// NewOrder makes an order in C memory. Free it when the body has returned.
func NewOrder(task Task) Order {
	c := (*C.struct_cbody_order)(C.calloc(1, C.sizeof_struct_cbody_order))
	o := Order{c}
	o.SetPeer(task.Peer)
	c.turns = C.int64_t(task.Turns)
	c.depth = C.int64_t(task.Depth)
	c.mode = C.int64_t(task.Mode)
	if task.Callback != nil {
		c.callback = C.uintptr_t(cgo.NewHandle(task.Callback))
	}
	return o
}

// Pointer is the order as a body's argument.
func (o Order) Pointer() unsafe.Pointer { return unsafe.Pointer(o.c) }

// SetPeer changes the fiber that the body switches to next.
func (o Order) SetPeer(handle unsafe.Pointer) { o.c.peer = (*C.fiberlab_fiber)(handle) }

// Answer returns what the body has found so far.
func (o Order) Answer() Answer {
	a := Answer{
		Done:       int(o.c.done),
		Broken:     int(o.c.broken),
		Code:       int(o.c.code),
		Self:       unsafe.Pointer(o.c.self),
		ModeBefore: RoundingMode(o.c.mode_before),
		ModeAfter:  RoundingMode(o.c.mode_after),
	}
	for _, frame := range o.c.frames[:o.c.frame_count] {
		a.Frames = append(a.Frames, uintptr(frame))
	}
	return a
}

// Free gives back the order's memory.
func (o Order) Free() {
	if o.c.callback != 0 {
		cgo.Handle(o.c.callback).Delete()
	}
	C.free(unsafe.Pointer(o.c))
}

// Current is fiberlab_current.
func Current() unsafe.Pointer { return unsafe.Pointer(C.fiberlab_current()) }

// Switch is fiberlab_switch, called by a Go function.
func Switch(handle unsafe.Pointer) int {
	return int(C.fiberlab_switch((*C.fiberlab_fiber)(handle)))
}

// ErrorText is fiberlab_error_text.
func ErrorText(code int) string { return C.GoString(C.fiberlab_error_text(C.int(code))) }

// CallGo calls a C function that calls callback.
func CallGo(callback func()) {
	h := cgo.NewHandle(callback)
	defer h.Delete()
	C.cbody_call_go(C.uintptr_t(h))
}

// DeepCallGo is CallGo with depth bytes of C frames in between.
func DeepCallGo(depth int, callback func()) {
	h := cgo.NewHandle(callback)
	defer h.Delete()
	if broken := C.cbody_deep_call_go(C.uintptr_t(h), C.int64_t(depth)); broken != 0 {
		panic(fmt.Sprintf("%d words of a C stack have changed", broken))
	}
}

// Visit calls a function of C that returns at once.
func Visit() { C.cbody_nothing(nil) }
