package stacks_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/labs/check/stacks"
	"fiberlab/labs/grade"
	"fiberlab/labs/machine"
	"fiberlab/labs/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Init()
	os.Exit(m.Run())
}

const lab, reference = "../../04", lab + "/reference"

// few reports whether tests take some of what they would grade: under -short, and in an emulator, which takes ten times
// as long.
func few() bool { return testing.Short() || os.Getenv("FIBERLAB_EXEC") != "" }

// examine grades the submission in dir, or a solution with its rest.
func examine(t *testing.T, a *machine.Arch, dir string, rest ...string) *grade.Report {
	t.Helper()
	const seed = 1
	emulator := strings.Fields(os.Getenv("FIBERLAB_EXEC"))
	if err := machine.Controls(a); err != nil && len(emulator) == 0 {
		t.Skip(err)
	}
	r, err := stacks.Labs()[0].Grade(
		t.Context(), grade.Options{Arch: a, Dir: dir, Rest: rest, Seed: seed, Emulator: emulator},
	)
	require.NoError(t, err)
	if r.Build != nil {
		require.False(t, r.Build.Failed, r.Build.Said)
	}
	return r
}

// faults returns the sentences of a report, one a line.
func faults(r *grade.Report) string {
	var lines []string
	for _, i := range r.Items {
		for _, f := range i.Faults {
			lines = append(lines, i.Name+": "+f.Text+" ("+f.Place.File+")")
		}
	}
	return strings.Join(lines, "\n")
}

// The reference and a solution that is written differently get full marks. make labs-selftest grades all solutions.
func TestSolutions(t *testing.T) {
	dirs, err := filepath.Glob(filepath.Join(lab, "solutions", "*"))
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(dirs), 4)
	for _, dir := range []string{dirs[0], reference} {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			r := examine(t, machine.Native(), dir, reference)
			require.True(t, r.Full(), faults(r))
		})
	}
}

// Pages may be larger than this machine's. In short sizes the reference takes part, which asks for their size by one of
// two ways.
func TestLargePages(t *testing.T) {
	if _, err := exec.LookPath(machine.ARM64.Emulator); err != nil {
		t.Skip(err)
	}
	for _, dir := range []string{"reference", "solutions/pieces"} {
		if few() && dir != "reference" {
			continue
		}
		r, err := stacks.Labs()[0].Grade(
			t.Context(),
			grade.Options{Arch: machine.ARM64, Dir: filepath.Join(lab, dir), Rest: []string{reference}, Seed: 1,
				Emulator: []string{machine.ARM64.Emulator, "-p", "16384"}},
		)
		require.NoError(t, err)
		require.True(t, r.Full(), faults(r))
	}
}

// What is handed out builds, and gets no points.
func TestSkeleton(t *testing.T) {
	r := examine(t, machine.Native(), lab)
	require.Zero(t, r.Points, faults(r))
	require.Equal(t, 100, r.Of)
	require.Contains(t, faults(r), "stack_map(&s, 1) returns ENOSYS (38): it must map a stack and return 0")
}

// A fault is named by its step, and by its place. In short sizes there is one in C and one in assembly.
func TestDiagnoses(t *testing.T) {
	undefined, call := ".cfi_undefined %rip", "    call    *%r12\n"
	if machine.Native() == machine.ARM64 {
		undefined, call = ".cfi_undefined x30", "    blr     x19\n"
	}
	trampoline := "trampoline_" + machine.Native().Name + ".S"
	for name, c := range map[string]struct{ file, old, new, want string }{
		"guard": {"stack.c", "memory, page, PROT_NONE", "memory, page, PROT_READ | PROT_WRITE", "a guard page " +
			"lies below it: the byte 1 below s.lo can be touched"},
		"unmap": {"stack.c", "munmap(s->lo - page, page + s->size)", "munmap(s->lo, s->size)", "stack_unmap " +
			"leaves the guard page mapped: it begins a page below s.lo (stack.c)"},
		"alignment": {"context.c", "~(uintptr_t)15", "~(uintptr_t)7", "alignment: it must be a multiple " +
			"of 16 there, and is 8 more"},
		"backtrace": {trampoline, undefined, "", "nothing has called it, which " + undefined + " says"},
		// a block of -11 bytes
		"endless": {trampoline, undefined, undefined + "\n.cfi_escape " +
			"0x0f,0xf5,0xff,0xff,0xff,0xff,0xff,0xff,0xff,0xff,0x01\n",
			"the call frame information of marl_fiber_trampoline cannot be read"},
		"large": {
			trampoline, "    .text\n", "    .section .eh_frame, \"a\"\n    .zero 1 << 20\n    .text\n",
			"the call frame information cannot be read",
		},
		"body": {trampoline, call, "", "the first entry comes to marl_fiber_returned, and target, the body, has " +
			"not been called"},
		"handler": {"overflow.c", "SA_SIGINFO | SA_ONSTACK", "SA_SIGINFO", "the handler has no stack to run on: " +
			"SA_ONSTACK is missing in sa_flags (overflow.c)"},
	} {
		if few() && name != "unmap" && name != "backtrace" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join(lab, "reference"))))
			text, err := os.ReadFile(filepath.Join(dir, c.file))
			require.NoError(t, err)
			require.Contains(t, string(text), c.old)
			require.NoError(
				t,
				os.WriteFile(filepath.Join(dir, c.file), []byte(strings.Replace(string(text), c.old, c.new, 1)), 0o600),
			)
			r := examine(t, machine.Native(), dir)
			require.Less(t, r.Points, 100)
			require.Contains(t, faults(r), c.want)
		})
	}
}

// The given swap includes the context.h that a student has changed, in make try as in the grader.
func TestTryWithOwnContext(t *testing.T) {
	root, err := filepath.Abs("../../..")
	require.NoError(t, err)
	dir := filepath.Join(t.TempDir(), "04")
	require.NoError(t, os.CopyFS(dir, os.DirFS(lab)))
	const own = "#ifdef __ASSEMBLER__\n.error \"the own one\"\n#endif\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "context.h"), []byte(own), 0o600))
	said, err := exec.Command("make", "-C", dir, "FIBERLAB="+root, "BUILD="+t.TempDir(), "try").CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(said), "Error: the own one")
}
