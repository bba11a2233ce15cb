package record

import (
	"slices"
	"strings"

	"fiberlab/labs/machine"
)

// readers are the instructions of arm64 that a swap consists of, besides stores. They write no memory.
var readers = []string{"ldp", "ldr", "ldur", "mov", "add", "sub", "ret", "br", "blr", "bl", "mrs", "msr", "fmov"}

// mayWrite reports whether an instruction may write memory. On arm64 only stores do; to look at memory after each other
// instruction would take most of the time of a recording by a stub.
func mayWrite(a *machine.Arch, instruction string) bool {
	name, _, _ := strings.Cut(instruction, " ")
	return a != machine.ARM64 || !slices.Contains(readers, name)
}
