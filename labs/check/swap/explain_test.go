package swap_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/labs/check/swap"
	"fiberlab/labs/grade"
	"fiberlab/labs/machine"
	"fiberlab/labs/sandbox"
)

// What a report says of the cause is so: it names no cause that there is not, and the line of the one that there is.
func TestDiagnoses(t *testing.T) {
	const entered, returns = "a fresh fiber is entered", "the swap returns to its caller"
	for name, c := range map[string]struct {
		lab      int // of swap.Labs
		folder   string
		old, new string // in swap.S
		seed     uint64
		item     string
		says     string
		not      string
	}{
		"what is jumped to was loaded from another place": {0, "reference", "REG_R12(%rsi), %r12", "REG_R13(%rsi), " +
			"%r12", 1,
			entered, `is what r12 was loaded with, from \d+ \(swap\.S:\d+\)`, "no instruction jumps"},
		"a place on a fresh stack": {0, "solutions/stack-frame", "0(%rsp), %r12", "8(%rsp), %r12", 1,
			entered, `from \d+ bytes below the top of the fresh stack \(swap\.S:\d+\)`, `\d{6} bytes`},
		"a return address that call has pushed": {0, "solutions/stack-frame", "addq    $48, %rsp", "addq    $40, " +
			"%rsp", 1,
			returns, "the return address lies only where call has pushed it", "never saved"},
		"a system call of 32 bits": {0, "reference", "movq    %rbx, REG_RBX(%rdi)", "movl    $20, %eax; int $0x80", 1,
			returns, `marl_fiber_swap called the 32-bit interface of the kernel \(int \$0x80, system call 20\): not ` +
				`allowed here`, "writev|never saved"},
		"a null pointer, and a control word of 0": {1, "reference", "ldp     x19, x20, [x1, #REG_X19]", "mov     x9, " +
			"#0; ldr x9, [x9]", 3,
			entered, `got SIGSEGV \(swap\.S:\d+\)$`, "fpcr"},
		"a register that is not loaded": {1, "reference", "    ret  ", "    br x16  ", 1,
			returns, `is what x16 held before the swap: x16 is not loaded \(swap\.S:49\)`, "no instruction jumps"},
	} {
		t.Run(name, func(t *testing.T) {
			l := swap.Labs()[c.lab]
			if testing.Short() && l.Arches[0] != machine.Native() {
				t.Skip("in full sizes only: an emulator takes several times as long")
			}
			if err := machine.Controls(l.Arches[0]); err != nil {
				t.Skip(err)
			}
			if strings.Contains(c.new, "int $0x80") {
				if l.Arches[0] != machine.Native() || machine.Traces() != nil {
					t.Skip("qemu-user does not say which interface was called")
				}
				if !answersNarrowCalls(t) {
					t.Skip("the kernel, or the virtual machine, has no system calls of 32 bits: int $0x80 raises a signal")
				}
			}
			dir := t.TempDir()
			require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join("..", "..", l.Number, c.folder))))
			replace(t, filepath.Join(dir, "swap.S"), c.old, c.new)
			r, err := l.Grade(t.Context(), grade.Options{Arch: l.Arches[0], Dir: dir, Seed: c.seed})
			require.NoError(t, err)
			require.Nil(t, r.Build)
			for _, i := range r.Items {
				if i.Name == c.item {
					require.NotEmpty(t, i.Faults)
					require.Regexp(t, c.says, i.Faults[0].Text)
				}
				for _, f := range i.Faults {
					require.NotRegexp(t, c.not, f.Text, i.Name)
				}
			}
		})
	}
}

// answersNarrowCalls reports whether the system answers int $0x80.
func answersNarrowCalls(t *testing.T) bool {
	dir := t.TempDir()
	source, program := filepath.Join(dir, "call.c"), filepath.Join(dir, "call")
	getpid := "int main(void) { int r = 20; __asm__ volatile(\"int $0x80\" : \"+a\"(r) : : \"memory\"); return r <= 0; }\n"
	require.NoError(t, os.WriteFile(source, []byte(getpid), 0o644))
	compiler, err := sandbox.Compiler(machine.Native())
	require.NoError(t, err)
	said, err := exec.Command(compiler[0], append(compiler[1:], "-o", program, source)...).CombinedOutput()
	require.NoError(t, err, string(said))
	return exec.Command(program).Run() == nil
}
