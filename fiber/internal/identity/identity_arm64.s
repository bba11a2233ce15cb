#include "textflag.h"

// func G() uintptr
TEXT ·G(SB), NOSPLIT, $0-8
	MOVD g, R0
	MOVD R0, ret+0(FP)
	RET

// func ThreadWord(offset uintptr) uintptr
TEXT ·ThreadWord(SB), NOSPLIT, $0-16
	MOVD offset+0(FP), R1
	MRS  TPIDR_EL0, R0
	MOVD (R0)(R1), R0
	MOVD R0, ret+8(FP)
	RET

// uintptr_t slotReader(void), in the C calling convention.
//
// The register that Go calls g belongs to C's callee-saved registers, so C may
// hold anything in it: the truth is in memory. load_g fetches it from there
// into g, and touches R0 and R27 besides; the caller's registers are put back.
TEXT slotReader<>(SB), NOSPLIT|NOFRAME, $0-0
	STP.W (R27, R30), -32(RSP)
	MOVD  g, 16(RSP)
	BL    runtime·load_g(SB)
	MOVD  g, R0
	MOVD  16(RSP), g
	LDP.P 32(RSP), (R27, R30)
	RET

// func SlotReader() uintptr
TEXT ·SlotReader(SB), NOSPLIT, $0-8
	MOVD $slotReader<>(SB), R0
	MOVD R0, ret+0(FP)
	RET
