#include "textflag.h"

// func Pause()
// PAUSE tells the core that this is a spin: it leaves the other hyperthread its
// resources, and does not mistake the end of the loop for a memory-order fault.
TEXT ·Pause(SB), NOSPLIT, $0-0
	PAUSE
	RET
