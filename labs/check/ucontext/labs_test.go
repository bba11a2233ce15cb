package ucontext_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/labs/check/ucontext"
	"fiberlab/labs/grade"
	"fiberlab/labs/machine"
	"fiberlab/labs/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Init()
	os.Exit(m.Run())
}

// One solution besides the reference takes part: make labs-selftest grades all of them.
func TestSolutionsGetFullMarks(t *testing.T) {
	l := ucontext.Labs()[0]
	folders, err := filepath.Glob(filepath.Join("..", "..", "05", "solutions", "*"))
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(folders), 4)
	for _, dir := range []string{folders[0], filepath.Join("..", "..", "05", "reference")} {
		for _, a := range l.Arches {
			t.Run(filepath.Base(dir)+"/"+a.Name, func(t *testing.T) { full(t, l, a, dir) })
		}
	}
}

func full(t *testing.T, l *grade.Lab, a *machine.Arch, dir string) {
	if err := machine.Controls(a); err != nil {
		t.Skip(err)
	}
	r, err := l.Grade(t.Context(), grade.Options{
		Arch: a, Dir: dir, Rest: []string{filepath.Join("..", "..", "05", "reference")}, Seed: 1,
	})
	require.NoError(t, err)
	require.False(t, r.Build != nil && r.Build.Failed, "%v", r.Build)
	for _, i := range r.Items {
		for _, f := range i.Faults {
			t.Errorf("%s (%d): %s (%s:%d)", i.Name, i.Of, f.Text, f.Place.File, f.Place.Line)
		}
	}
	t.Logf("%v", r.Measured)
	require.Equal(t, 100, r.Of)
	require.True(t, r.Full())
}

// The report does not give the numbers that students must count, until they have counted them.
func TestCountIsNotGivenAway(t *testing.T) {
	l := ucontext.Labs()[0]
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join("..", "..", "05", "reference"))))
	skeleton, err := os.ReadFile(filepath.Join("..", "..", "05", "answers.txt"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "answers.txt"), skeleton, 0o600))
	if err := machine.Controls(machine.Native()); err != nil {
		t.Skip(err)
	}
	r, err := l.Grade(t.Context(), grade.Options{Arch: machine.Native(), Dir: dir, Seed: 1})
	require.NoError(t, err)
	require.Less(t, r.Points, r.Of)
	require.NotEmpty(t, r.Measured)
	for _, f := range r.Measured {
		require.NotEqual(t, "system calls", f.Unit)
	}
}

// A program that goes on at no instruction of its sources is not said to be in one of them,
// least of all in the grader's.
func TestLostProgramIsInNoSource(t *testing.T) {
	l := ucontext.Labs()[0]
	for _, a := range l.Arches {
		t.Run(a.Name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join("..", "..", "05", "reference"))))
			file := filepath.Join(dir, "swapcontext_"+a.Name+".S")
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			change := map[*machine.Arch][2]string{
				machine.AMD64: {"movq    %rcx, UC_RIP(%rdi)", ""},
				machine.ARM64: {"stp     x2, x30, [x0, #UC_SP]", "str x2, [x0, #UC_SP]"},
			}[a]
			require.Equal(t, 1, strings.Count(string(text), change[0]))
			require.NoError(
				t, os.WriteFile(file, []byte(strings.Replace(string(text), change[0], change[1], 1)), 0o600),
			)
			if err := machine.Controls(a); err != nil {
				t.Skip(err)
			}
			r, err := l.Grade(t.Context(), grade.Options{Arch: a, Dir: dir, Seed: 1})
			require.NoError(t, err)
			require.False(t, r.Full())
			for _, i := range r.Items {
				for _, f := range i.Faults {
					require.NotContains(t, f.Text, "harness")
					require.NotContains(t, f.Place.File, "harness")
				}
			}
		})
	}
}

// What is counted is the C library's swapcontext: a submission that brings its own does not build.
func TestOwnSwapcontext(t *testing.T) {
	for name, source := range map[string]string{
		"function": "int swapcontext(void);\nint swapcontext(void) { return 0; }\n",
		"weak":     "int __attribute__((weak)) swapcontext(void);\nint swapcontext(void) { return 0; }\n",
		"version":  "__asm__(\".symver mine, swapcontext@@V\");\nint mine(void);\nint mine(void) { return 0; }\n",
		"common":   "long swapcontext __attribute__((common));\n",
	} {
		dir := t.TempDir()
		require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join("..", "..", "05", "reference"))))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "mine.c"), []byte(source), 0o600))
		r, err := ucontext.Labs()[0].Grade(t.Context(), grade.Options{Arch: machine.Native(), Dir: dir, Seed: 1})
		require.NoError(t, err)
		require.Zero(t, r.Points, name)
		require.NotNil(t, r.Build, name)
		require.Regexp(
			t, `^mine\.c: defines swapcontext\S*, which the grader needs from the C library`, r.Build.Said[0], name,
		)
	}
}

// The C library's swapcontext gets no points either for a submission that knows its address.
func TestLibraryByAddress(t *testing.T) {
	l := ucontext.Labs()[0]
	a := machine.Native()
	jump := map[*machine.Arch]string{machine.AMD64: "movabs $%#x, %%rax\n jmp *%%rax\n", machine.ARM64: "ldr x16, " +
		"=%#x\n br x16\n"}[a]
	dir := t.TempDir()
	o := grade.Options{Arch: a, Dir: dir, Seed: 1}
	address := uint64(1<<40 + 1) // as long as the real one
	for range 2 {
		source := ".text\n.globl lab_swapcontext\n.type lab_swapcontext, %function\nlab_swapcontext:\n" + fmt.Sprintf(
			jump, address,
		)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "borrow.S"), []byte(source), 0o600))
		_, err := l.With(t.Context(), o, func(b *grade.Bench) (*grade.Report, error) {
			library, err := b.Program.Symbol("swapcontext")
			address = library.Address
			return nil, err
		})
		require.NoError(t, err)
	}
	if err := machine.Controls(a); err != nil {
		t.Skip(err)
	}
	r, err := l.Grade(t.Context(), o)
	require.NoError(t, err)
	require.Zero(t, r.Points)
	require.Contains(
		t, r.Items[0].Faults[0].Text, "lab_swapcontext runs swapcontext of the C library, which it is to replace",
	)
}
