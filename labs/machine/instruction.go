package machine

import (
	"encoding/binary"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/arch/x86/x86asm"
)

// Fetch returns the bytes of the program's memory from pc on that an instruction can have, or fewer where memory ends.
func Fetch(m Machine, pc uint64) []byte {
	const page = 4096
	longest := uint64(15)
	if m.Arch() == ARM64 {
		longest = 4
	}
	code := make([]byte, longest)
	if m.Read(pc, code) == nil {
		return code
	}
	code = code[:min(longest, page-pc%page)]
	if uint64(len(code)) < longest && m.Read(pc, code) == nil {
		return code
	}
	return nil
}

// word returns an instruction of arm64.
func word(code []byte) (instruction uint32, whole bool) {
	if len(code) < 4 {
		return 0, false
	}
	return binary.LittleEndian.Uint32(code), true
}

// withoutPrefixes returns an instruction of amd64 from its opcode on, and whether one of the prefixes before it is rep
// or repne. Any instruction may have prefixes, also where they mean nothing.
func withoutPrefixes(code []byte) (rest []byte, repeated bool) {
	for i, b := range code {
		switch {
		case b == 0xf2 || b == 0xf3:
			repeated = true
		case b == 0x66 || b == 0x67 || b == 0xf0 || b&0xf0 == 0x40: // other sizes, lock, and the prefix rex
		case b == 0x26 || b == 0x2e || b == 0x36 || b == 0x3e || b == 0x64 || b == 0x65: // segments
		default:
			return code[i:], repeated
		}
	}
	return nil, repeated
}

// IsSystemCall reports whether the instruction that begins code is a system call: syscall on amd64, svc on arm64.
func IsSystemCall(a *Arch, code []byte) bool {
	if a == AMD64 {
		code, _ = withoutPrefixes(code)
		return len(code) >= 2 && code[0] == 0x0f && code[1] == 0x05
	}
	w, whole := word(code)
	return whole && w&0xffe0001f == 0xd4000001
}

// isTrap reports whether an instruction is a breakpoint: int3 on amd64, brk on arm64.
func isTrap(a *Arch, code []byte) bool {
	if a == AMD64 {
		return len(code) >= 1 && code[0] == 0xcc
	}
	w, whole := word(code)
	return whole && w&0xffe0001f == 0xd4200000
}

// trapLength is how far the program counter has gone on when a breakpoint instruction raises SIGTRAP.
func trapLength(a *Arch) uint64 {
	if a == AMD64 {
		return 1
	}
	return 0
}

// isRepeated reports whether an instruction is a string instruction with a rep prefix.
func isRepeated(a *Arch, code []byte) bool {
	if a != AMD64 {
		return false
	}
	code, repeated := withoutPrefixes(code)
	return repeated && len(code) > 0 && (code[0] >= 0xa4 && code[0] <= 0xa7 || code[0] >= 0xaa && code[0] <= 0xaf)
}

// pushesFlags reports whether an instruction is pushf.
func pushesFlags(a *Arch, code []byte) bool {
	if a != AMD64 {
		return false
	}
	code, _ = withoutPrefixes(code)
	return len(code) > 0 && code[0] == 0x9c
}

// touchesVectors reports whether an instruction of arm64 may change registers v0 to v31 or fpcr.
func touchesVectors(code []byte) bool {
	w, whole := word(code)
	if !whole {
		return true
	}
	switch group := w >> 25 & 0xf; {
	case group == 0b0000 || group == 0b0010: // vectors of other lengths
		return true
	case group&0b0111 == 0b0111: // floating point and vectors
		return true
	case group&0b0101 == 0b0100: // loads and stores
		return w>>26&1 == 1
	}
	return w>>24 == 0xd5 // system registers
}

// armOperand is an operand of arm64 in memory: a base, and an offset or an index, which may be extended and shifted.
// What stands behind the bracket is added afterwards.
var armOperand = regexp.MustCompile(`\[([a-z]\w+)(?:, #(-?\d+)|, ([wx]\d+)(?:, (lsl|[us]xt[wx])(?: #(\d))?)?)?\]`)

// Operand returns the address of the memory that the instruction at the program counter names, before it runs; code
// begins with the instruction. Of two such operands it is the one that is stored to. An instruction that only computes
// an address names none, nor does one by a segment register, whose base is not known.
func Operand(r Registers, code []byte) (address uint64, found bool) {
	if r.arch == AMD64 {
		return operandAMD64(r, code)
	}
	return operandARM64(r, code)
}

func operandAMD64(r Registers, code []byte) (uint64, bool) {
	instruction, err := x86asm.Decode(code, 64)
	if err != nil || instruction.Op == x86asm.LEA || instruction.Op == x86asm.NOP ||
		strings.HasPrefix(instruction.Op.String(), "PREFETCH") {
		return 0, false
	}
	for _, arg := range instruction.Args {
		operand, ok := arg.(x86asm.Mem)
		if !ok {
			continue
		}
		if operand.Segment == x86asm.FS || operand.Segment == x86asm.GS {
			return 0, false
		}
		address := uint64(operand.Disp)
		if operand.Base != 0 || operand.Index != 0 { // the decoder does not extend the sign of each displacement
			address = uint64(int32(operand.Disp))
		}
		if operand.Base == x86asm.RIP {
			address += r.PC() + uint64(instruction.Len)
		} else if base := r.arch.Canonical(operand.Base.String()); base != "" {
			address += r.Get(base)
		}
		if index := r.arch.Canonical(operand.Index.String()); index != "" {
			address += r.Get(index) * uint64(operand.Scale)
		}
		if instruction.AddrSize == 32 {
			address &= 1<<32 - 1
		}
		return address, true
	}
	return 0, false
}

func operandARM64(r Registers, code []byte) (uint64, bool) {
	text, length := Disassemble(r.arch, code, r.PC())
	if w, whole := word(code); length == 0 && whole && w&0x0a000000 == 0x08000000 {
		return armBase(r, w), true
	}
	found := armOperand.FindStringSubmatch(text)
	if found == nil || strings.HasPrefix(text, "prfm") {
		return 0, false
	}
	base, index := r.arch.Canonical(found[1]), r.arch.Canonical(found[3])
	if base == "" {
		return 0, false
	}
	offset, _ := strconv.ParseInt(found[2], 10, 64)
	address := r.Get(base) + uint64(offset)
	if index != "" {
		value := r.Get(index)
		switch found[4] {
		case "uxtw":
			value = uint64(uint32(value))
		case "sxtw":
			value = uint64(int32(value))
		}
		shift, _ := strconv.Atoi(found[5])
		address += value << shift
	}
	return address, true
}

// armBase returns the base of a load or store that the disassembler does not know: an atomic one, or one of parts of
// vectors. These have no offset.
func armBase(r Registers, w uint32) uint64 {
	if n := w >> 5 & 31; n < 31 {
		return r.Get("x" + strconv.Itoa(int(n)))
	}
	return r.SP()
}
