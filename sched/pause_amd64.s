#include "textflag.h"

// func pause()
// PAUSE tells the core that this is a spin: it leaves the other hyperthread its
// resources, and does not mistake the end of the loop for a memory-order fault.
TEXT ·pause(SB), NOSPLIT, $0-0
	PAUSE
	RET
