package machine

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"
)

// Prefixes that mean nothing hide no instruction.
func TestPrefixes(t *testing.T) {
	for _, prefixes := range []string{
		"", "\x48", "\x2e", "\x66", "\x67", "\x2e\x2e\x2e\x2e\x2e\x2e\x2e\x2e\x2e\x2e\x2e\x2e\x2e",
		"\x64\x66\x48",
	} {
		require.True(t, IsSystemCall(AMD64, []byte(prefixes+"\x0f\x05")), "%x syscall", prefixes)
		require.True(t, pushesFlags(AMD64, []byte(prefixes+"\x9c")), "%x pushf", prefixes)
		require.True(t, isRepeated(AMD64, []byte(prefixes+"\xf3\xa4")), "%x rep movsb", prefixes)
		require.False(t, isRepeated(AMD64, []byte(prefixes+"\xa4")), "%x movsb", prefixes)
		require.False(t, IsSystemCall(AMD64, []byte(prefixes+"\x0f")), "%x and half an instruction", prefixes)
		require.False(t, pushesFlags(AMD64, []byte(prefixes)), "%x alone", prefixes)
	}
}

// The memory that an instruction names, with base, index, displacement and in relation to the program counter.
func TestOperand(t *testing.T) {
	for _, c := range []struct {
		arch    *Arch
		code    string
		text    string
		address uint64
	}{
		{AMD64, "48896f08", "mov %rbp, 0x8(%rdi)", 0x20008},
		{AMD64, "488b5c2480", "mov -0x80(%rsp), %rbx", 0xff80},
		{AMD64, "488b9c2400ffffff", "mov -0x100(%rsp), %rbx", 0xff00},
		{AMD64, "488b04cf", "mov (%rdi,%rcx,8), %rax", 0x20018},
		{AMD64, "48890d10000000", "mov %rcx, 0x10(%rip)", 0x401017},
		{AMD64, "ff2510000000", "jmp *0x10(%rip)", 0x401016},
		{AMD64, "48a5", "movsq %ds:(%rsi), %es:(%rdi)", 0x20000},
		{AMD64, "48a1f0debc9a78563412", "mov 0x123456789abcdef0, %rax", 0x123456789abcdef0},
		{AMD64, "488d5c2480", "lea -0x80(%rsp), %rbx", 0},
		{AMD64, "0f1f4000", "nopl 0x0(%rax)", 0},
		{AMD64, "53", "push %rbx", 0},
		{AMD64, "64488b042528000000", "mov %fs:0x28, %rax", 0},
		{ARM64, "fd7bbfa9", "stp x29, x30, [sp, #-16]!", 0xfff0},
		{ARM64, "e00740f9", "ldr x0, [sp, #8]", 0x10008},
		{ARM64, "e00741f8", "ldr x0, [sp], #16", 0x10000},
		{ARM64, "3e492af8", "str x30, [x9, w10, uxtw]", 0x10002fff8},
		{ARM64, "3ed92af8", "str x30, [x9, w10, sxtw #3]", 0x2ffc0},
		{ARM64, "3ef92af8", "str x30, [x9, x10, sxtx #3]", 0x100002ffc0},
		{ARM64, "2085000d", "st1 {v0.d}[0], [x9]", 0x30000},
		{ARM64, "2a813ef8", "swp x30, x10, [x9], which the disassembler does not know", 0x30000},
		{ARM64, "e10320f8", "ldadd x0, x1, [sp], the same", 0x10000},
		{ARM64, "ffffffff", "", 0},
	} {
		code, err := hex.DecodeString(c.code)
		require.NoError(t, err)
		r := NewRegisters(c.arch)
		r.Set(c.arch.PC, 0x401000)
		r.Set(c.arch.SP, 0x10000)
		if c.arch == AMD64 {
			r.Set("rdi", 0x20000)
			r.Set("rcx", 3)
		} else {
			r.Set("x9", 0x30000)
			r.Set("x10", 0x1fffffff8)
		}
		address, found := Operand(r, code)
		require.Equal(t, c.address, address, c.text)
		require.Equal(t, c.address != 0, found, c.text)
	}
}
