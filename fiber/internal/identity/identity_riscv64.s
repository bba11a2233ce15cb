#include "textflag.h"

// func G() uintptr
TEXT ·G(SB), NOSPLIT, $0-8
	MOV g, ret+0(FP)
	RET

// func ThreadWord(offset uintptr) uintptr
TEXT ·ThreadWord(SB), NOSPLIT, $0-16
	MOV offset+0(FP), X5
	ADD TP, X5, X5
	MOV (X5), X5
	MOV X5, ret+8(FP)
	RET

// uintptr_t slotReader(void), in the C calling convention.
//
// As on arm64, the register that Go calls g is one of C's callee-saved registers.
// load_g touches X5 and X31 besides, which belong to nobody over a call.
TEXT slotReader<>(SB), NOSPLIT|NOFRAME, $0-0
	ADD  $-16, X2
	MOV  X1, 0(X2)
	MOV  g, 8(X2)
	CALL runtime·load_g(SB)
	MOV  g, X10
	MOV  8(X2), g
	MOV  0(X2), X1
	ADD  $16, X2
	RET

// func SlotReader() uintptr
TEXT ·SlotReader(SB), NOSPLIT, $0-8
	MOV $slotReader<>(SB), X5
	MOV X5, ret+0(FP)
	RET
