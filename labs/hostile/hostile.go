// Package hostile has submissions that try to get points which they have not earned, or to hurt the machine. The grader
// gives them none, says what they did, and outlives them. In its folder wrong are submissions without malice that only
// seem right (wrong.go).
//
// Each other folder is a submission for labs 2 and 3; the comment at its head says what it tries. Here the files end in
// .in: a compiler, or a tool that looks at all C sources, should not meet them without limits. Write makes submissions
// of them.
package hostile

import (
	"embed"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	_ "fiberlab/internal/platform/system" // ends a build for another system with one line
)

//go:embed hostile.h.in */*.in
var files embed.FS

// Submission is one of the set.
type Submission struct {
	Name   string
	Native string // what its report says, as a regular expression, where the grader controls it by ptrace
	Stub   string // and where it runs in an emulator, if that is something else
	Slow   bool   // whether it takes seconds, until the grader's limits end it
	make   func(dir string) error
}

// Said returns what its report must say, as a regular expression.
func (s Submission) Said(emulated bool) string {
	if emulated && s.Stub != "" {
		return s.Stub
	}
	return s.Native
}

// Write makes the files of the submission in the folder dir. labs is the folder of the labs: what submissions look for.
func (s Submission) Write(dir, labs string) error {
	if s.make != nil {
		return s.make(dir)
	}
	names, err := files.ReadDir(s.Name)
	if err != nil {
		return err
	}
	fill := strings.NewReplacer("@LABS@", labs, "@DIR@", dir)
	write := func(from, name string) error {
		text, err := files.ReadFile(from)
		if err != nil {
			return err
		}
		return os.WriteFile(
			filepath.Join(dir, strings.TrimSuffix(name, ".in")), []byte(fill.Replace(string(text))), 0o644,
		)
	}
	for _, n := range names {
		if err := write(s.Name+"/"+n.Name(), n.Name()); err != nil {
			return err
		}
	}
	return write("hostile.h.in", "hostile.h.in")
}

// endless is what is said of a submission that the end of an item's time finds in its call, or, on a busy machine,
// before it.
const endless = `does not come|the examination did not end within`

// Set returns all submissions.
func Set() []Submission {
	return []Submission{
		// Before it runs.
		{Name: "constructor", Native: `has a constructor \(section \.init_array\): nothing may run before main`},
		{Name: "early", Native: `defines __tsan_init, by which a C program begins: not allowed here`},
		{Name: "preinit", Native: `has a constructor \(section \.preinit_array\): nothing may run before main`},
		{Name: "ifunc", Native: `chosen is chosen when the program starts \(ifunc\): not allowed here`},
		{Name: "include", Native: `hostile\.c:\d+: includes .*/02/context\.c: hand in your own files`},
		{Name: "incbin", Native: `includes .*/02/reference/swap\.S: hand in your own files`},
		{Name: "assembled", Native: `includes .*/02/reference/swap\.S: hand in your own files`},
		{Name: "device", Native: `includes /dev/zero: hand in your own files`},
		{Name: "recursion", Native: `hostile\.c:2: error: #include nested depth 200 exceeds maximum`},
		{Name: "macros", Native: `out of memory|needs more than 3s`, Slow: true},
		{Name: "repeats", Native: `out of memory|memory exhausted|File size limit|needs more than 3s`},
		{Name: "assembles", Native: `needs more than 3s|out of memory`, Slow: true},
		{Name: "fills", Native: `File size limit|file too big|File too large|objects have more than 32 MB`},
		{
			Name:   "room",
			Native: `hostile\.c: needs more than 14 MB of memory, with the files before it: a lab needs some KB`,
		},
		{Name: "harness", Native: `defines lab_ready, a name of the grader`},
		{Name: "main", Native: `defines main, a name of the grader`},
		{Name: "start", Native: `defines _start, by which a C program begins: not allowed here`},
		{Name: "libc", Native: `defines __libc_start_main, by which a C program begins: not allowed here`},
		{Name: "loader", Native: `has a section \.interp: not allowed here`},
		{Name: "note", Native: `has a note \(section \.note\.hostile\): not allowed here`},
		{Name: "writable-code", Native: `has code that can be written to \(section \.mine\): not allowed here`},
		{Name: "lines", Native: `what it makes cannot be read: source lines of the program: there are more than \d+`},
		{Name: "library", Native: `uses swapcontext: not allowed in this lab`},
		{
			Name:   "link",
			make:   func(dir string) error { return os.Symlink("/etc/passwd", filepath.Join(dir, "hostile.c")) },
			Native: `hostile\.c cannot be handed in: it is a symbolic link, not a plain file`,
		},
		{
			Name:   "pipe",
			make:   func(dir string) error { return syscall.Mkfifo(filepath.Join(dir, "hostile.c"), 0o600) },
			Native: `hostile\.c cannot be handed in: it is a pipe, not a plain file`,
		},
		{Name: "large", make: func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "hostile.c"), []byte(strings.Repeat("int a;\n", 10<<20/7)), 0o600)
		}, Native: `hostile\.c cannot be handed in: it has \d+ bytes`},

		// While it runs.
		{Name: "report", Native: `.`},
		{Name: "exit", Native: `exited with status 0`},
		{Name: "read-reference", Native: `called open`},
		{Name: "write-file", Native: `called open`},
		{Name: "fill-disk", Native: `called open`},
		{Name: "memory-file", Native: `called memfd_create`, Stub: `not allowed here`},
		{Name: "fork", Native: `called fork \(clone\): not allowed here`, Stub: `not allowed here`},
		{Name: "thread", Native: `called fork \(clone\): not allowed here`, Stub: `not allowed here`},
		{Name: "memory", Native: endless, Stub: `called mmap: not allowed here`, Slow: true},
		{Name: "descriptors", Native: `called dup: not allowed here`, Stub: `not allowed here`},
		{Name: "loop", Native: endless, Slow: true},
		{Name: "output", Native: endless, Stub: `called write: not allowed here`, Slow: true},
		{Name: "read", Native: endless, Stub: `called read: not allowed here`, Slow: true},
		{Name: "wait", Native: endless, Stub: `called (pause|ppoll): not allowed here`, Slow: true},
		{Name: "catch", Native: `got SIGSEGV`},
		{Name: "breakpoint", Native: `got SIGTRAP`},
		{Name: "alarm", Native: `got SIGALRM|does not come`, Stub: `called (alarm|setitimer): not allowed here`},
		{Name: "traced", Native: `called ptrace: not allowed here`},
		{Name: "attach", Native: `called ptrace: not allowed here`, Stub: `called getppid: not allowed here`},
		{Name: "kill-parent", Native: `called kill: not allowed here`, Stub: `not allowed here`},
		{Name: "kill-group", Native: `called kill: not allowed here`, Stub: `not allowed here`},
		{Name: "kill-all", Native: `called kill: not allowed here`, Stub: `not allowed here`},
		{Name: "socket", Native: `called socket: not allowed here`, Stub: `not allowed here`},
		{Name: "shell", Native: `called exec \(execve\): not allowed here`, Stub: `not allowed here`},
		{Name: "limits", Native: `called prlimit64: not allowed here`},
		{Name: "own-code", Native: `called mprotect: not allowed here`, Stub: `called mprotect: not allowed here`},
		{Name: "own-memory", Native: `called open`, Stub: `not allowed here`},
		{Name: "deep", Native: `got SIGSEGV|does not come`},
		{Name: "nowhere", Native: `got SIGSEGV`},
		{Name: "clock", Native: `.`},
		{Name: "source", Native: `r\S+ comes back|x\d+ comes back`},
		{Name: "answers", Native: `.`, Stub: `called write: not allowed here`},
		// where the kernel, or the virtual machine, has no mode of 32 bits, the jump raises SIGSEGV
		{Name: "mode", Native: `the program runs in another mode than that of 64 bits|got SIGSEGV`, Stub: `.`},
		{
			Name: "unmap", Native: `no memory where the examination needs some: read`,
			Stub: `called munmap: not allowed here`,
		},
		{Name: "stub", Native: `called sendto: not allowed here`},
		{Name: "stub-library", Native: `called sendto: not allowed here`},
		{Name: "stub-middle", Native: `called sendto: not allowed here`},
		// qemu before 7.2 executes data
		{Name: "stub-data", Native: `got SIGSEGV`, Stub: `got SIGSEGV|called sendto: not allowed here`},
		{Name: "stub-return", Native: `got SIG(SEGV|ILL)`, Stub: `got SIG(SEGV|ILL)|called sendto: not allowed here`},
		{Name: "stub-memory", Native: `exited with status 7|got SIGSEGV`, Stub: `got SIGSEGV`},
		{Name: "semihosting", Native: `got SIG(SEGV|ILL)`, Stub: `got SIGSEGV|called semihosting: not allowed here`},
		{Name: "size", Native: `no memory where the examination needs some: read 8 bytes at 0x10`},
	}
}

// WriteAnswers makes a submission for any lab in the folder dir: each function that the lab needs answers the grader in
// the name of the emulator's stub.
func WriteAnswers(dir string, needs []string) error {
	source := "#define ANY_LAB\n#include \"hostile.h\"\n"
	for _, name := range needs {
		if strings.HasSuffix(name, "_size") {
			source += "const size_t " + name + " = 256;\n"
		} else {
			source += "long " + name + "(void) { forge(); return 0; }\n"
		}
	}
	head, err := files.ReadFile("hostile.h.in")
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(filepath.Join(dir, "convention.c"), []byte(source), 0o644),
		os.WriteFile(filepath.Join(dir, "hostile.h"), head, 0o644))
}
