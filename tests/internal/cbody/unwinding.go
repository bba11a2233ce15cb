package cbody

/*
#include <execinfo.h>
#include "../../../fiber/core.h"
#include "cbody.h"

static uintptr_t bottom_frame(void) {
#ifdef FIBERLAB_HAS_ASM
	return (uintptr_t)marl_fiber_trampoline;
#else
	return 0;
#endif
}

static int load_unwinder(void) {
	void *frames[1];
	return backtrace(frames, 1);
}
*/
import "C"

// UnwindDepth is how many calls the bodies Backtrace and Walk make before they
// look at their frames.
const UnwindDepth = C.CBODY_UNWIND_DEPTH

// LoadUnwinder makes the first call of backtrace(3), which loads a library and
// needs more stack than a fiber has to spare.
func LoadUnwinder() { C.load_unwinder() }

// BottomFrame returns the address of the function in which every stack of the
// asm backend begins, or 0 where there is no such backend.
func BottomFrame() uintptr { return uintptr(C.bottom_frame()) }
