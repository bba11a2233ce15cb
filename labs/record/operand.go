package record

import (
	"fmt"
	"slices"
	"strings"

	"fiberlab/labs/machine"
)

// StackPointers returns the stack pointer before each step.
func (r *Recording) StackPointers() []uint64 {
	name := machine.AMD64.SP
	if r.Arch == machine.ARM64.Name {
		name = machine.ARM64.SP
	}
	var all []uint64
	sp := uint64(r.Registers[name])
	for _, step := range r.Steps {
		all = append(all, sp)
		for _, c := range step.Registers {
			if c.Register == name {
				sp = uint64(c.After)
			}
		}
	}
	return all
}

// Loads reports whether a step has read its operand. On amd64 it has if it changed a register and did not store there.
func (r *Recording) Loads(step Step) bool {
	switch {
	case step.Operand == 0:
		return false
	case r.Arch == machine.ARM64.Name:
		return strings.HasPrefix(step.Instruction, "ld")
	}
	return len(step.Registers) > 0 && !slices.ContainsFunc(step.Memory, func(w Write) bool {
		return uint64(r.Regions[w.Region].Address)+uint64(w.Offset)-uint64(step.Operand) < 16
	})
}

// Overwritten says what a signal handler may overwrite below the stack pointer.
func Overwritten(a *machine.Arch) string {
	if a.RedZone == 0 {
		return "a signal handler overwrites all that lies below it"
	}
	return fmt.Sprintf("a signal handler overwrites what lies more than %d bytes below it", a.RedZone)
}
