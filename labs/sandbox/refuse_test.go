package sandbox_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/labs/machine"
	"fiberlab/labs/sandbox"
)

// What is no plain file of a modest size is not taken, and the error names it.
func TestCollectRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		make func(dir string) error
		want string
	}{
		"link": {func(dir string) error { return os.Symlink("/etc/passwd", filepath.Join(dir, "a.c")) }, "a.c " +
			"cannot be handed in: it is a symbolic link, not a plain file"},
		"pipe": {func(dir string) error { return syscall.Mkfifo(filepath.Join(dir, "a.c"), 0o600) }, "a.c cannot " +
			"be handed in: it is a pipe, not a plain file"},
		"device": {
			func(dir string) error { return syscall.Mknod(filepath.Join(dir, "a.c"), syscall.S_IFSOCK|0o600, 0) },
			"a.c cannot be handed in: it is a socket, not a plain file",
		},
		"large": {
			func(dir string) error { return os.WriteFile(filepath.Join(dir, "a.c"), make([]byte, 10<<20), 0o600) },
			"a.c cannot be handed in: it has 10485760 bytes (at most 1048576)",
		},
		"option": {func(dir string) error { return os.WriteFile(filepath.Join(dir, "-o.c"), nil, 0o600) }, `"-o.c" ` +
			`cannot be handed in: its name`},
		"many": {func(dir string) error {
			for i := range sandbox.MaxFiles + 1 {
				if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%d.c", i)), nil, 0o600); err != nil {
					return err
				}
			}
			return nil
		}, "cannot be handed in: 65 files (at most 64)"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, c.make(dir))
			_, err := sandbox.Collect(dir, []string{"*.c"}, t.TempDir())
			require.ErrorIs(t, err, sandbox.ErrSubmission)
			require.Contains(t, err.Error(), c.want)
		})
	}
}

// A submission has its own files and the system's headers. The refusal names what it takes besides.
func TestForeignFiles(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "swap.S")
	require.NoError(t, os.WriteFile(secret, []byte("nop\n"), 0o644))
	for name, source := range map[string]string{
		"answer.c": "#include \"%s\"\nint answer(void) { return 1; }\n",
		"a.S":      "#include \"%s\"\n",
		"b.S":      "\t.include \"%s\"\n",
		"c.S":      "\t.incbin \"%s\"\n",
		"d.c":      "int x;\n__asm__(\".incbin \\\"%s\\\"\");\n",
	} {
		for _, a := range arches() {
			t.Run(name+"/"+a.Name, func(t *testing.T) {
				_, err := build(t, a, map[string]string{name: fmt.Sprintf(source, secret)})
				var failed *sandbox.BuildError
				require.ErrorAs(t, err, &failed)
				require.Equal(t, name, failed.File)
				require.Equal(t, "includes "+secret+": hand in your own files", failed.Text)
			})
		}
	}
}

// Objects do not run before the grader looks, and do not take its names.
func TestSymbols(t *testing.T) {
	const answer = "int answer(void) { return 42; }\n"
	for name, c := range map[string]struct{ source, want string }{
		"constructor": {answer + "__attribute__((constructor)) static void early(void) { _Exit(0); }\n", "has a " +
			"constructor (section .init_array): nothing may run before main"},
		"preinit": {answer + "static void early(void) { _Exit(0); } __attribute__((section(\".preinit_array\"), " +
			"used)) static void (*list)(void) = early;\n", "has a constructor (section .preinit_array): nothing may " +
			"run before main"},
		"init": {answer + "__asm__(\".pushsection .init, \\\"ax\\\"\\nnop\\n.popsection\");\n", "has a " +
			"constructor (section .init): nothing may run before main"},
		"destructor": {answer + "__attribute__((destructor)) static void late(void) { _Exit(0); }\n", "has a " +
			"destructor (section .fini_array): not allowed here"},
		"ifunc": {answer + "static int (*choose(void))(void) { return answer; }\nint other(void) " +
			"__attribute__((ifunc(\"choose\")));\n", "other is chosen when the program " +
			"starts (ifunc): not allowed here"},
		"main": {answer + "int main(void) { return 0; }\n", "defines main, a name of the grader"},
		"start": {answer + "void _start(void) { }\n", "defines _start, " +
			"by which a C program begins: not allowed here"},
		"libc": {answer + "void __libc_start_main(void) { }\n", "defines __libc_start_main, by which a C " +
			"program begins: not allowed here"},
		"version": {answer + "__asm__(\".symver mine, main@@V\");\nint mine(void) { return 0; }\n", "defines " +
			"main@@V, a name of the grader"},
		"begin": {answer + "__asm__(\".symver mine, _start@@V\");\nint mine(void) { return 0; }\n", "defines " +
			"_start@@V, by which a C program begins: not allowed here"},
		"needed": {answer + "int getpagesize(void) { return 1; }\n", "defines getpagesize, which the grader " +
			"needs from the C library: not allowed here"},
		"symbols": {answer + manyNames(10_001), "has more than 10000 symbols"},
		"interp": {
			answer + "__attribute__((section(\".interp\"))) const char loader[] = \"/bin/sh\";\n",
			"has a section .interp: not allowed here",
		},
		"note": {answer + "__asm__(\".pushsection .note.mine, \\\"a\\\", %note\\n.long 4, 4, 1\\n.asciz " +
			"\\\"GNU\\\"\\n.long 0\\n.popsection\");\n", "has a note (section .note.mine): not allowed here"},
		"writable": {answer + "__asm__(\".pushsection .mine, \\\"awx\\\"\\nnop\\n.popsection\");\n", "has code " +
			"that can be written to (section .mine): not allowed here"},
		"lto": {answer + "__asm__(\".pushsection .gnu.lto_x, \\\"e\\\"\\nnop\\n.popsection\");\n", "has a " +
			"section .gnu.lto_x: not allowed here"},
		"swapcontext": {answer + "int other(void) { return swapcontext(0, 0); }\n", "uses swapcontext: " +
			"not allowed in this lab"},
		"memory": {answer + "char room[1 << 30];\n", "needs more than 14 MB of memory, with the files before " +
			"it: a lab needs some KB"},
		"common": {answer + "__attribute__((common)) char room[1 << 30];\n", "needs more than 14 MB of memory, " +
			"with the files before it: a lab needs some KB"},
		"alignment": {answer + "__attribute__((aligned(1 << 24))) char room[8];\n", "needs more than 14 MB of " +
			"memory, with the files before it: a lab needs some KB"},
		"threads": {answer + "__thread char room[1 << 30];\n", "needs more than 14 MB of memory, with the files " +
			"before it: a lab needs some KB"},
		"allowed": {answer + "int other(char *to) { puts(to); memset(to, 1, 1000); abort(); }\n", ""},
	} {
		for _, a := range arches() {
			if a != machine.Native() && name != "constructor" && name != "allowed" {
				continue // what is looked at is the same there
			}
			t.Run(name+"/"+a.Name, func(t *testing.T) {
				_, err := build(
					t, a,
					map[string]string{
						"answer.c": "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include " +
							"<ucontext.h>\n" + c.source,
					},
					"puts", "abort", "_Exit",
				)
				if c.want == "" {
					require.NoError(t, err)
					return
				}
				var failed *sandbox.BuildError
				require.ErrorAs(t, err, &failed)
				require.Equal(t, "answer.c: "+c.want, failed.Error())
			})
		}
	}
}

// The constructor by which a C compiler calls __tsan_init is allowed. No other file may define that name.
func TestConstructorOfTwoFiles(t *testing.T) {
	_, err := build(t, machine.Native(), map[string]string{
		"answer.c": "extern void __tsan_init(void);\nvoid *const init = (void *)__tsan_init;\n" +
			"__attribute__((constructor)) static void early(void) { }\nint answer(void) { return 42; }\n",
		"init.c": "void __tsan_init(void) { }\n",
	}, "abort")
	var failed *sandbox.BuildError
	require.ErrorAs(t, err, &failed)
	require.Equal(t, "init.c: defines __tsan_init, by which a C program begins: not allowed here", failed.Error())
}

// manyNames is a source that defines so many names.
func manyNames(n int) string {
	var source strings.Builder
	for i := range n {
		fmt.Fprintf(&source, "int name%d;\n", i)
	}
	return source.String()
}

// What is built stays small, all together, and the rest is not built.
func TestObjectsAreBounded(t *testing.T) {
	sources := map[string]string{}
	for i := range sandbox.MaxFiles {
		sources[fmt.Sprintf("f%d.S", i)] = "\t.data\n\t.fill 10000000, 1, 1\n"
	}
	_, err := build(t, machine.Native(), sources)
	require.EqualError(t, err, "its objects have more than 32 MB, all together")
}

// A compiler that gets too much to do ends, and its words are few.
func TestCompilerIsBounded(t *testing.T) {
	if os.Getenv("FIBERLAB_EXEC") != "" {
		t.Skip("qemu-user keeps bounds on memory from the kernel")
	}
	if sandbox.Missing() != "" {
		t.Skip(sandbox.Missing())
	}
	for name, c := range map[string]struct{ file, source string }{
		"device":  {"a.c", "#include \"/dev/zero\"\n"},
		"repeats": {"a.S", ".rept 1000000000\n.quad 0\n.endr\n"},
		"fill":    {"a.S", ".fill 10000000000, 8, 1\n"},
		"errors":  {"a.c", "int answer(void) { return 0; }\n" + strings.Repeat("int f(void) { return x; }\n", 20000)},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := build(t, machine.Native(), map[string]string{c.file: c.source})
			var failed *sandbox.BuildError
			require.ErrorAs(t, err, &failed)
			require.Less(t, len(failed.Text)+len(failed.More), 2000)
			t.Log(err)
		})
	}
}
