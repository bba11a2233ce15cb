package machine

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/arch/arm64/arm64asm"
	"golang.org/x/arch/x86/x86asm"
)

// Disassemble returns the instruction that begins code, in the syntax of the GNU assembler, and its length in bytes. Pc
// is where it stands: targets of branches are shown as addresses.
// The length is 0 if it is no instruction that is known.
func Disassemble(a *Arch, code []byte, pc uint64) (text string, length int) {
	if a == AMD64 {
		text, length = disassembleAMD64(code, pc)
	} else {
		text, length = disassembleARM64(code, pc)
	}
	return space(text), length
}

// space writes operands apart, as sources have them. Within the parentheses of amd64 there is no space.
func space(text string) string {
	var spaced strings.Builder
	inside := 0
	for i, c := range text {
		spaced.WriteRune(c)
		switch c {
		case '(':
			inside++
		case ')':
			inside--
		case ',':
			if inside == 0 && !strings.HasPrefix(text[i+1:], " ") {
				spaced.WriteByte(' ')
			}
		}
	}
	return spaced.String()
}

const endbr64 = "\xf3\x0f\x1e\xfa"

// suffixed are instructions whose suffix q says nothing: there is no other size.
var suffixed = regexp.MustCompile(`^((?:bnd )?(?:ret|call|jmp|leave))q\b`)

func disassembleAMD64(code []byte, pc uint64) (string, int) {
	if strings.HasPrefix(string(code), endbr64) {
		return "endbr64", len(endbr64)
	}
	instruction, err := x86asm.Decode(code, 64)
	if err != nil || instruction.Op == 0 {
		return "", 0
	}
	text := x86asm.GNUSyntax(instruction, pc, nil)
	return suffixed.ReplaceAllString(text, "$1"), instruction.Len
}

// relative is a place relative to the program counter.
var relative = regexp.MustCompile(`\.([+-])0x([0-9a-f]+)$`)

// armNames are names that the disassembler writes as numbers.
var armNames = strings.NewReplacer(
	"s3_3_c4_c4_0", "fpcr", "s3_3_c4_c4_1", "fpsr", "s3_3_c4_c2_0", "nzcv", "s3_3_c13_c0_2", "tpidr_el0",
)

// armHints are the hints that have names.
var armHints = map[string]string{
	"hint #0x19": "paciasp", "hint #0x1d": "autiasp", "hint #0x20": "bti", "hint #0x22": "bti c", "hint #0x24": "bti j",
	"hint #0x26": "bti jc",
}

func disassembleARM64(code []byte, pc uint64) (string, int) {
	instruction, err := arm64asm.Decode(code)
	if err != nil || instruction.Op == 0 {
		return "", 0
	}
	text := strings.TrimSpace(armNames.Replace(arm64asm.GNUSyntax(instruction)))
	if name, ok := armHints[text]; ok {
		text = name
	}
	if found := relative.FindStringSubmatch(text); found != nil {
		distance, _ := strconv.ParseUint(found[2], 16, 64)
		if found[1] == "-" {
			distance = -distance
		}
		if strings.HasPrefix(text, "adrp") {
			pc &^= 0xfff
		}
		text = relative.ReplaceAllLiteralString(text, fmt.Sprintf("%#x", pc+distance))
	}
	return text, 4
}
