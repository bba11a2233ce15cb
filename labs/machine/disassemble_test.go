package machine

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDisassemble(t *testing.T) {
	for _, c := range []struct {
		arch *Arch
		code string
		text string
	}{
		{AMD64, "f30f1efa", "endbr64"},
		{AMD64, "48896f08", "mov %rbp, 0x8(%rdi)"},
		{AMD64, "c3", "ret"},
		{AMD64, "ffe0", "jmp *%rax"},
		{AMD64, "e810000000", "call 0x401015"},
		{AMD64, "ff6610", "jmp *0x10(%rsi)"},
		{AMD64, "488b04cf", "mov (%rdi,%rcx,8), %rax"},
		{AMD64, "0fae16", "ldmxcsr (%rsi)"},
		{AMD64, "d96e04", "fldcw 0x4(%rsi)"},
		{AMD64, "f3a4", "rep movsb %ds:(%rsi), %es:(%rdi)"},
		{AMD64, "0f05", "syscall"},
		{AMD64, "48", ""},
		{AMD64, "", ""},
		{ARM64, "fd7bbfa9", "stp x29, x30, [sp, #-16]!"},
		{ARM64, "0824006d", "stp d8, d9, [x0]"},
		{ARM64, "c0035fd6", "ret"},
		{ARM64, "10000094", "bl 0x401040"},
		{ARM64, "feffff17", "b 0x400ff8"},
		{ARM64, "40000054", "b.eq 0x401008"},
		{ARM64, "00443bd5", "mrs x0, fpcr"},
		{ARM64, "1f000091", "mov sp, x0"},
		{ARM64, "5f2403d5", "bti c"},
		{ARM64, "010000d4", "svc #0x0"},
		{ARM64, "ffffffff", ""},
		{ARM64, "0100", ""},
	} {
		code, err := hex.DecodeString(c.code)
		require.NoError(t, err)
		text, length := Disassemble(c.arch, code, 0x401000)
		require.Equal(t, c.text, text)
		if c.text == "" {
			require.Zero(t, length)
		} else {
			require.Len(t, code, length)
		}
	}
}

// The program is read as it stands in memory.
func TestDisassembleMemory(t *testing.T) {
	ways(t, func(t *testing.T, w way) {
		b := begin(t, w, Options{})
		text, length := Disassemble(b.Arch(), Fetch(b, b.at("identity_call")), b.at("identity_call"))
		require.Contains(t, []string{"syscall", "svc #0x0"}, text)
		require.Equal(t, b.at("identity_after"), b.at("identity_call")+uint64(length))
		_, length = Disassemble(b.Arch(), Fetch(b, 0x500000), 0x500000)
		require.Zero(t, length)
	})
}
