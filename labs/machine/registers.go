package machine

import (
	"fmt"
	"slices"
)

// Registers are the values of a processor's registers at one moment. Get one from Machine.Registers: the zero value
// belongs to no architecture.
type Registers struct {
	arch    *Arch
	values  []uint64 // in the order of arch.Registers
	general bool     // those of floating point are not known
}

// NewRegisters returns registers that are all zero.
func NewRegisters(a *Arch) Registers {
	return Registers{arch: a, values: make([]uint64, len(a.Registers))}
}

// Arch returns the architecture whose registers these are.
func (r Registers) Arch() *Arch { return r.arch }

// Get returns the value of a register by its name in Arch.Registers. It panics for another name.
func (r Registers) Get(name string) uint64 { return r.values[r.index(name)] }

// Set changes the value of a register, by its name in Arch.Registers. Copies made by assignment share the change; Clone
// makes copies that do not. It panics for another name.
func (r Registers) Set(name string, value uint64) { r.values[r.index(name)] = value }

// PC returns the program counter.
func (r Registers) PC() uint64 { return r.Get(r.arch.PC) }

// SP returns the stack pointer.
func (r Registers) SP() uint64 { return r.Get(r.arch.SP) }

// Backward reports whether string instructions go to lower addresses: the direction flag of amd64. arm64 has none.
func (r Registers) Backward() bool { return r.arch == AMD64 && r.Get("eflags")&directionFlag != 0 }

const directionFlag = 1 << 10

// Clone returns a copy that shares nothing.
func (r Registers) Clone() Registers {
	r.values = slices.Clone(r.values)
	return r
}

// With returns the registers that r has, and those that it lacks from all.
func (r Registers) With(all Registers) Registers {
	both := all.Clone()
	for i, value := range r.values {
		if r.has(i) {
			both.values[i] = value
		}
	}
	return both
}

// withoutFloat returns r, whose values of floating point are forgotten.
func (r Registers) withoutFloat() Registers {
	r.general = true
	for i := range r.values {
		if !r.has(i) {
			r.values[i] = 0
		}
	}
	return r
}

// has reports whether the value of number i of arch.Registers is known.
func (r Registers) has(i int) bool { return !r.general || !r.arch.float(i) }

func (r Registers) index(name string) int {
	i := slices.Index(r.arch.Registers, name)
	if i < 0 {
		panic(fmt.Sprintf("machine: %s has no register %q", r.arch.Name, name))
	}
	return i
}
