//go:build amd64 || arm64

package bench

/*
#include "pingpong.h"
#include "../asm/context.h"
#include "registers.h"
extern size_t pingpong_depth;
*/
import "C"

import (
	"fmt"
	"runtime"
	"strings"
	"unsafe"

	"golang.org/x/arch/arm64/arm64asm"
	"golang.org/x/arch/x86/x86asm"

	_ "fiberlab/asm"
)

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
	if direct && (in.Op == x86asm.JMP || in.Op == x86asm.JE) {
		next += uintptr(to)
	}
	return line, next, in.Op == x86asm.JMP && !direct || in.Op == x86asm.RET
}

// registers is the workload of a switch that saves one group of registers, beside one that saves none: the difference
// is what the group costs.
func registers() Workload {
	w := Workload{
		Name: "registers", Title: "An inline switch that saves one group of registers", Operation: "switch", Base: "none",
		Floor: openFloor, Notes: []string{
			"These switches load the group each time; asm loads the control words only where the two sides differ.",
		},
	}
	for i := range C.register_groups {
		g := &C.register_groups[i]
		w.Rivals = append(w.Rivals, Mechanism{
			Name: C.GoString(g.name), Says: "it saves " + C.GoString(g.says),
			Open: openPingpong(g.loop, 2),
		})
	}
	return w
}

// depths are the places on the axis of the workload of stack depth. A stack has room for the deepest.
var depths = []int{1, 2, 4, 8, 16, 32, 64, 128}

// depth is the workload of a switch between two sides that call down to a depth, touch each frame, and return. The
// calls alone are measured beside it: a switch moves no stack, so the difference does not grow with the depth.
func depth() Workload {
	w := Workload{
		Name: "depth", Title: "A switch at the bottom of calls, and their returns", Operation: "switch", Base: "asm",
		Axis: "frames", Notes: []string{"A frame is a call, a cache line that is written twice, and a return."},
	}
	for _, n := range depths {
		w.Rivals = append(w.Rivals,
			Mechanism{Name: "asm", At: float64(n), Open: openDeep(&C.pingpong_deep, n, 1)},
			Mechanism{
				Name: "calls", Says: "there is no switch", At: float64(n), Open: openDeep(&C.pingpong_deep_call, n, 2),
			})
	}
	return w
}

// deep is a pair whose loop descends that many frames.
type deep struct {
	Session
	frames int
}

func openDeep(loop *C.pingpong, frames, trip int) func() (Session, error) {
	return func() (Session, error) {
		s, err := openPingpong(loop, trip)()
		return deep{s, frames}, err
	}
}

func (d deep) Run(n int) (Sample, error) {
	C.pingpong_depth = C.size_t(d.frames)
	return d.Session.Run(n)
}
