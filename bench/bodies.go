package bench

/*
#include "bodies.h"
*/
import "C"

import "unsafe"

// ReturnBody returns a C body for fiber.NewC that returns as soon as it is entered.
func ReturnBody() unsafe.Pointer {
	return unsafe.Pointer(C.return_body)
}

// HoldBody returns a C body for fiber.NewC. Its argument is the handle of the root fiber: the body
// switches back to that as soon as it is entered, so that the fiber is held suspended in mid-function,
// and returns when it is resumed.
func HoldBody() unsafe.Pointer {
	return unsafe.Pointer(C.hold_body)
}
