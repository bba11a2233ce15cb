//go:build amd64 || arm64

package bench

// #include "../asm/context.h"
import "C"

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/arch/arm64/arm64asm"
	"golang.org/x/arch/x86/x86asm"
)

func listAsm() (string, int)     { return listing(unsafe.Pointer(C.marl_fiber_swap_fp)) }
func listAsmNofp() (string, int) { return listing(unsafe.Pointer(C.marl_fiber_swap)) }

// mostInstructions ends a listing of what is no switch.
const mostInstructions = 100

// listing returns the instructions that a call of the switch at pc executes, one a line, and their number. Where the
// switch compares control words it follows the way on which they are equal: a jump if equal is taken, others are not.
// It ends at the indirect jump to the other side. If it meets an unknown instruction, the number is 0.
func listing(pc unsafe.Pointer) (text string, n int) {
	var lines strings.Builder
	for n < mostInstructions {
		code := unsafe.Slice((*byte)(pc), 15)
		line, next, end := decode(code, uintptr(pc))
		if line == "" {
			return lines.String(), 0
		}
		fmt.Fprintln(&lines, line)
		n++
		if end {
			return lines.String(), n
		}
		pc = unsafe.Add(pc, int(next-uintptr(pc)))
	}
	return lines.String(), 0
}

// decode returns the instruction that begins code, at pc, and the address of the one that follows. The line is empty if
// the instruction is unknown. end reports whether it leaves for an address in a register.
func decode(code []byte, pc uintptr) (line string, next uintptr, end bool) {
	if runtime.GOARCH == "arm64" {
		in, err := arm64asm.Decode(code)
		if err != nil {
			return "", 0, false
		}
		line, next = strings.ToLower(in.String()), pc+4
		condition, some := in.Args[0].(arm64asm.Cond)
		taken := in.Op == arm64asm.B && (!some || condition.String() == "EQ")
		for _, arg := range in.Args {
			if to, ok := arg.(arm64asm.PCRel); ok && taken {
				next = pc + uintptr(to)
			}
		}
		return line, next, in.Op == arm64asm.BR || in.Op == arm64asm.RET
	}
	if strings.HasPrefix(string(code), "\xf3\x0f\x1e\xfa") {
		return "endbr64", pc + 4, false
	}
	in, err := x86asm.Decode(code, 64)
	if err != nil {
		return "", 0, false
	}
	line, next = x86asm.GNUSyntax(in, uint64(pc), nil), pc+uintptr(in.Len)
	to, direct := in.Args[0].(x86asm.Rel)
	if direct {
		target := next + uintptr(to)
		line, _, _ = strings.Cut(line, " ")
		line += " 0x" + strconv.FormatUint(uint64(target), 16)
		if in.Op == x86asm.JMP || in.Op == x86asm.JE {
			next = target
		}
	}
	return line, next, in.Op == x86asm.JMP && !direct || in.Op == x86asm.RET
}
