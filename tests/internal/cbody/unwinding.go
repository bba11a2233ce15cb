package cbody

/*
#include <execinfo.h>
#include "../../../asm/context.h"
#include "cbody.h"

static int load_unwinder(void) {
	void *frames[1];
	return backtrace(frames, 1);
}
*/
import "C"

import "unsafe"

// UnwindDepth is how many calls the bodies Backtrace and Walk make before they
// look at their frames.
const UnwindDepth = C.CBODY_UNWIND_DEPTH

// LoadUnwinder makes the first call of backtrace(3), which loads a library and
// needs more stack than a fiber has to spare.
func LoadUnwinder() { C.load_unwinder() }

// BottomFrame returns the address of the function in which every stack of the
// asm backend begins.
func BottomFrame() uintptr { return uintptr(unsafe.Pointer(C.marl_fiber_trampoline)) }
