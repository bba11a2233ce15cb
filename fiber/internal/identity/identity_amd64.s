#include "textflag.h"

// func G() uintptr
TEXT ·G(SB), NOSPLIT, $0-8
	MOVQ (TLS), AX
	MOVQ AX, ret+0(FP)
	RET

// func ThreadWord(offset uintptr) uintptr
//
// The assembler has no operand for FS with a register offset, hence the bytes.
TEXT ·ThreadWord(SB), NOSPLIT, $0-16
	MOVQ offset+0(FP), CX
	BYTE $0x64; BYTE $0x48; BYTE $0x8b; BYTE $0x01 // mov rax, fs:[rcx]
	MOVQ AX, ret+8(FP)
	RET

// uintptr_t slotReader(void), in the C calling convention.
TEXT slotReader<>(SB), NOSPLIT|NOFRAME, $0-0
	MOVQ (TLS), AX
	RET

// func SlotReader() uintptr
TEXT ·SlotReader(SB), NOSPLIT, $0-8
	LEAQ slotReader<>(SB), AX
	MOVQ AX, ret+0(FP)
	RET
