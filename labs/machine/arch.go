package machine

import (
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Arch is a processor architecture, by the names that its assemblers use.
type Arch struct {
	Name      string   // as Go has it: amd64, arm64
	Triple    string   // of the GNU tools: x86_64-linux-gnu
	Emulator  string   // of qemu-user: qemu-x86_64
	Registers []string // all that Registers holds, in the order in which they are shown
	PC, SP    string   // two of them: the program counter and the stack pointer
	Saved     []string // what a function must leave as it found it (callee-saved), without SP: general registers first
	Arguments []string // the general registers that carry arguments, in order
	Result    string   // the general register that carries a result
	Link      string   // the register that carries the return address, or "" if a call pushes it
	Control   []Control
	// RedZone is how many bytes below the stack pointer stay as they are when a signal handler runs.
	RedZone uint64
}

// Control is a control register, of which a function must leave some bits as it found them.
type Control struct {
	Name string
	Bits uint64 // these; any values of them may be written
}

// Draw gives the bits of c in regs the values that they have in random.
func (c Control) Draw(regs Registers, random uint64) {
	regs.Set(c.Name, regs.Get(c.Name)&^c.Bits|random&c.Bits)
}

// AMD64 is x86-64 with the System V ABI.
var AMD64 = &Arch{
	Name: "amd64", Triple: "x86_64-linux-gnu", Emulator: "qemu-x86_64",
	Registers: []string{
		"rip", "rsp", "rbp", "rbx", "r12", "r13", "r14", "r15", "rdi", "rsi", "rdx", "rcx", "r8", "r9", "rax", "r10",
		"r11", "eflags", "mxcsr", "x87cw",
	},
	PC: "rip", SP: "rsp",
	Saved:     []string{"rbx", "rbp", "r12", "r13", "r14", "r15"},
	Arguments: []string{"rdi", "rsi", "rdx", "rcx", "r8", "r9"},
	Result:    "rax",
	Control: []Control{
		{"mxcsr", 0xffc0}, // flush to zero, rounding control, the masks of exceptions, denormals are zero
		{"x87cw", 0x0d3f}, // rounding control, precision (double or extended), the masks of exceptions
	},
	RedZone: 128,
}

// ARM64 is AArch64 with the procedure call standard of Arm. Registers d0 to d31 are the low halves of v0 to v31: of v8
// to v15 only these survive a call.
var ARM64 = &Arch{
	Name: "arm64", Triple: "aarch64-linux-gnu", Emulator: "qemu-aarch64",
	Registers: slices.Concat(
		[]string{"pc", "sp", "x29", "x30"}, numbered("x", 19, 28), numbered("d", 8, 15), numbered("x", 0, 18),
		numbered("d", 0, 7), numbered("d", 16, 31), []string{"nzcv", "fpcr"},
	),
	PC: "pc", SP: "sp",
	Saved:     slices.Concat(numbered("x", 19, 29), numbered("d", 8, 15)),
	Arguments: numbered("x", 0, 7),
	Result:    "x0",
	Link:      "x30",
	Control:   []Control{{"fpcr", 0x7c00000}}, // alternative half precision, default NaN, flush to zero, rounding mode
}

// float reports whether number i of a.Registers belongs to floating point.
func (a *Arch) float(i int) bool {
	name := a.Registers[i]
	return name[0] == 'd' && name[1] >= '0' && name[1] <= '9' || name == "fpcr" || name == "mxcsr" || name == "x87cw"
}

// ByName returns the architecture of that name. The error names the architectures that there are.
func ByName(name string) (*Arch, error) {
	for _, a := range []*Arch{AMD64, ARM64} {
		if a.Name == name {
			return a, nil
		}
	}
	return nil, fmt.Errorf("architecture %q: there are %s and %s", name, AMD64.Name, ARM64.Name)
}

// other stands for the architecture of this program if it is neither AMD64 nor ARM64.
var other = &Arch{Name: runtime.GOARCH}

// Native returns the architecture that this program was built for. See Known.
func Native() *Arch {
	if a, err := ByName(runtime.GOARCH); err == nil {
		return a
	}
	return other
}

// Takes reports whether a source file is built for a. The part of its name before the first dot may say that it is for
// another architecture, as swap_arm64.S does.
func (a *Arch) Takes(file string) bool {
	stem, _, _ := strings.Cut(filepath.Base(file), ".")
	return !slices.ContainsFunc([]*Arch{AMD64, ARM64}, func(other *Arch) bool {
		return other != a && strings.HasSuffix(stem, "_"+other.Name)
	})
}

// Known returns an error if the labs are not about the architecture that this program was built for.
func Known() error {
	if Native() == other {
		return fmt.Errorf("the labs are for %s and %s, and this is %s", AMD64.Name, ARM64.Name, other.Name)
	}
	return nil
}

// Canonical returns the name that Registers uses for the register that an instruction calls name. That is r12 for
// r12d, r12w and r12b, rax for eax, ax, al and ah, x19 for w19, and d8 for v8, q8 and s8. It returns "" if name is no
// register.
func (a *Arch) Canonical(name string) string {
	name = strings.ToLower(strings.TrimLeft(name, "%"))
	if slices.Contains(a.Registers, name) {
		return name
	}
	if a == ARM64 {
		switch {
		case name == "fp" || name == "w29":
			return "x29"
		case name == "lr" || name == "w30":
			return "x30"
		case name == "wsp":
			return "sp"
		case len(name) < 2:
			return ""
		case name[0] == 'w':
			name = "x" + name[1:]
		case strings.IndexByte("vqsbh", name[0]) >= 0:
			name, _, _ = strings.Cut("d"+name[1:], ".")
		}
	} else {
		switch short := strings.TrimPrefix(strings.TrimPrefix(name, "e"), "r"); {
		case short == "ip" || short == "sp" || short == "bp" || short == "di" || short == "si":
			name = "r" + short
		case short == "spl" || short == "bpl" || short == "dil" || short == "sil":
			name = "r" + short[:2]
		case len(short) == 2 && strings.IndexByte("abcd", short[0]) >= 0 && strings.IndexByte("xhl", short[1]) >= 0:
			name = "r" + short[:1] + "x"
		default:
			name = strings.TrimRight(name, "dwbl")
		}
	}
	if slices.Contains(a.Registers, name) {
		return name
	}
	return ""
}

func numbered(prefix string, first, last int) []string {
	var names []string
	for i := first; i <= last; i++ {
		names = append(names, fmt.Sprintf("%s%d", prefix, i))
	}
	return names
}
