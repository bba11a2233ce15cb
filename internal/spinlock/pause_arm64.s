#include "textflag.h"

// func Pause()
// YIELD is the architecture's hint that this thread spins.
TEXT ·Pause(SB), NOSPLIT, $0-0
	YIELD
	RET
