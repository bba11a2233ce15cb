//go:build amd64 || arm64

package bench

// #include "pingpong.h"
import "C"

import _ "fiberlab/asm"

func openAsm() (Session, error)       { return openPingpong(&C.pingpong_asm, 2) }
func openAsmInline() (Session, error) { return openPingpong(&C.pingpong_asm_inline, 2) }
func openAsmNofp() (Session, error)   { return openPingpong(&C.pingpong_asm_nofp, 2) }

// assembly returns the mechanisms that switch by assembly of this project.
func assembly() []Mechanism {
	return []Mechanism{
		{
			Name: "asm", Says: "it saves the callee-saved registers and the floating-point control words", Open: openAsm,
			List: listAsm,
		},
		{Name: "asm-inline", Says: "the compiler saves only the registers that it uses", Open: openAsmInline},
		{Name: "asm-nofp", Says: "it saves the callee-saved registers alone", Open: openAsmNofp, List: listAsmNofp},
	}
}
