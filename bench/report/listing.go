package report

/*
// They are weak: where there is no assembly for the processor, they are NULL.
extern const char marl_fiber_swap[] __attribute__((weak)), marl_fiber_swap_fp[] __attribute__((weak));
static const char *swap(void) { return marl_fiber_swap; }
static const char *swap_fp(void) { return marl_fiber_swap_fp; }
*/
import "C"

import (
	"slices"
	"strings"
	"unsafe"

	"fiberlab/bench"
	"fiberlab/labs/machine"
)

// disassemble fills the listings of bare switches in r, from the code of this program. A row stays without one where
// the processor has no assembly here.
func disassemble(r *bench.Report) {
	g := r.Group("switch")
	if g == nil {
		return
	}
	for _, bare := range []struct {
		row, function string
		code          *C.char
	}{{"asm", "marl_fiber_swap_fp", C.swap_fp()}, {"asm-nofp", "marl_fiber_swap", C.swap()}} {
		if row := g.Row(bare.row, 0); row != nil && row.Listing == "" && bare.code != nil {
			row.Listing = bare.function + ":\n" + strings.Join(instructions(unsafe.Pointer(bare.code)), "\n")
		}
	}
}

const (
	mostInstructions = 64 // of a bare switch
	longest          = 15 // bytes of an instruction
)

// instructions disassembles from an address in this program up to the first jump, inclusive.
func instructions(from unsafe.Pointer) (lines []string) {
	for at := 0; len(lines) < mostInstructions; {
		code := unsafe.Slice((*byte)(unsafe.Add(from, at)), longest)
		text, length := machine.Disassemble(machine.Native(), code, uint64(uintptr(from))+uint64(at))
		if length == 0 {
			return append(lines, "  ...")
		}
		lines = append(lines, "  "+text)
		if slices.ContainsFunc(strings.Fields(text), func(word string) bool {
			return slices.Contains([]string{"jmp", "br", "b", "ret"}, word)
		}) {
			return lines
		}
		at += length
	}
	return lines
}
