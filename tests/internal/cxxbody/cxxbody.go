// Package cxxbody has bodies in C++ for the suites.
package cxxbody

/*
#cgo CXXFLAGS: -O2 -Wall -Wextra -std=c++17
#include <stdlib.h>
#include "cxxbody.h"
*/
import "C"

import (
	"unsafe"

	_ "fiberlab/fiber" // fiberlab_switch
)

// Catch is a body, for fiber.NewC, that switches to Peer in catch clauses and destructors.
var Catch = unsafe.Pointer(C.cxx_catch_body)

// Switches is how often Catch switches in all, if it does so turns times in each place.
func Switches(turns int) int { return 3*turns + 1 }

// Order tells one body what to do, and holds its answer. It may be read and
// changed only while the body does not run.
type Order struct{ c *C.struct_cxx_order }

// NewOrder returns an order in C memory, for exceptions of that number.
func NewOrder(number, turns int) Order {
	c := (*C.struct_cxx_order)(C.calloc(1, C.sizeof_struct_cxx_order))
	c.number, c.turns = C.int64_t(number), C.int64_t(turns)
	return Order{c}
}

// SetPeer changes the fiber that the body switches to: the fiber with that Handle.
func (o Order) SetPeer(handle unsafe.Pointer) { o.c.peer = (*C.fiberlab_fiber)(handle) }

// Pointer returns the body's argument.
func (o Order) Pointer() unsafe.Pointer { return unsafe.Pointer(o.c) }

// Done returns how many switches came back.
func (o Order) Done() int { return int(o.c.done) }

// Wrong returns how often the body found exceptions that were not its own.
func (o Order) Wrong() int { return int(o.c.wrong) }

// Free frees the order.
func (o Order) Free() { C.free(unsafe.Pointer(o.c)) }
