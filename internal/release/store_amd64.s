//go:build !race

#include "textflag.h"

// func Store(p *atomic.Uint64, v uint64)
//
// Every store of this processor is a release.
TEXT ·Store(SB), NOSPLIT, $0-16
	MOVQ p+0(FP), CX
	MOVQ v+8(FP), AX
	MOVQ AX, (CX)
	RET
