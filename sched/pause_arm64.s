#include "textflag.h"

// func pause()
// YIELD is the architecture's hint that this thread spins.
TEXT ·pause(SB), NOSPLIT, $0-0
	YIELD
	RET
