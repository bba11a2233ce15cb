//go:build amd64 || arm64

package bench

// #include "pingpong.h"
import "C"

import _ "fiberlab/asm"

// assembly returns the mechanisms that switch by assembly of this project.
func assembly() []Mechanism {
	return []Mechanism{
		{
			Name: "asm", Says: "it saves the callee-saved registers and the floating-point control words",
			Open: openPingpong(&C.pingpong_asm, 2), List: listAsm,
		},
		{
			Name: "asm-inline", Says: "the compiler saves only the registers that it uses",
			Open: openPingpong(&C.pingpong_asm_inline, 2),
		},
		{
			Name: "asm-nofp", Says: "it saves the callee-saved registers alone",
			Open: openPingpong(&C.pingpong_asm_nofp, 2), List: listAsmNofp,
		},
	}
}
