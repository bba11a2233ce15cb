package conventions_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/labs/check/conventions"
	"fiberlab/labs/grade"
	"fiberlab/labs/machine"
	"fiberlab/labs/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Init()
	os.Exit(m.Run())
}

const folder = "../../01"

// graded returns the report of what lies in dir, or of a solution with its rest. FIBERLAB_EXEC is what runs this test,
// if anything does.
func graded(t *testing.T, a *machine.Arch, dir string, rest ...string) *grade.Report {
	t.Helper()
	o := grade.Options{Arch: a, Dir: dir, Rest: rest, Seed: 1}
	if a == machine.Native() {
		o.Emulator = strings.Fields(os.Getenv("FIBERLAB_EXEC"))
	}
	if err := machine.Controls(a); err != nil && len(o.Emulator) == 0 {
		t.Skip(err)
	}
	r, err := conventions.Labs()[0].Grade(t.Context(), o)
	require.NoError(t, err)
	for _, item := range r.Items {
		t.Logf("%d of %d: %s", item.Points, item.Of, item.Name)
		for _, f := range item.Faults {
			t.Logf("    %s (%s)", f.Text, f.Section)
		}
	}
	return r
}

// each runs the test on each architecture for which this machine has a compiler, and an emulator if it needs one. In an
// emulator it runs only on the emulated one: this machine tests both without.
func each(t *testing.T, test func(t *testing.T, a *machine.Arch)) {
	arches := conventions.Labs()[0].Arches
	if os.Getenv("FIBERLAB_EXEC") != "" {
		arches = []*machine.Arch{machine.Native()}
	}
	for _, a := range arches {
		t.Run(a.Name, func(t *testing.T) {
			if a != machine.Native() {
				if _, err := sandbox.Compiler(a); err != nil {
					t.Skip(err)
				}
				if _, err := exec.LookPath(a.Emulator); err != nil {
					t.Skip(err)
				}
			}
			test(t, a)
		})
	}
}

func TestReference(t *testing.T) {
	each(t, func(t *testing.T, a *machine.Arch) {
		r := graded(t, a, folder+"/reference")
		require.Equal(t, 100, r.Of)
		require.Equal(t, 100, r.Points)
	})
}

func TestSkeleton(t *testing.T) {
	each(t, func(t *testing.T, a *machine.Arch) {
		require.Equal(t, 0, graded(t, a, folder).Points)
	})
}

// What is right in another way gets full marks, too. One solution takes part: make labs-selftest grades all of them.
func TestSolutions(t *testing.T) {
	solutions, err := filepath.Glob(folder + "/solutions/*")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(solutions), 3)
	each(t, func(t *testing.T, a *machine.Arch) {
		require.Equal(t, 100, graded(t, a, solutions[0], folder+"/reference").Points)
	})
}

// A submission's own header is replaced, and the report says so.
func TestHeader(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(folder+"/reference")))
	require.Empty(t, graded(t, machine.Native(), dir).Remarks)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "convention.h"), []byte("#error of my own\n"), 0o600))
	r := graded(t, machine.Native(), dir)
	require.Equal(t, 100, r.Points)
	require.Len(t, r.Remarks, 1)
	require.Contains(t, r.Remarks[0], "graded with the lab's own convention.h")

	large := filepath.Join(dir, "convention_large.S")
	require.NoError(t, os.WriteFile(large, []byte(".data\n.fill 5000000, 8, 1\n"), 0o600))
	require.Contains(t, strings.Join(graded(t, machine.Native(), dir).Build.Said, "\n"), "the lab's own convention.h")
	require.NoError(t, os.Remove(filepath.Join(dir, "convention.h")))
	said := graded(t, machine.Native(), dir).Build.Said
	require.Contains(t, said[0], "its objects have more than 32 MB")
	require.Len(t, said, 1, "the remark is about the submission before")
}

// A value that a register or the memory below the stack pointer does not keep is traced to that register,
// or to that memory.
func TestBlame(t *testing.T) {
	for _, c := range []struct{ arch, from, to, want string }{
		{"amd64", "r13", "rcx", "rcx does not survive a call, and was still needed after it: "},
		{"arm64", "x21", "x10", "x10 does not survive a call, and was still needed after it: "},
	} {
		a, err := machine.ByName(c.arch)
		require.NoError(t, err)
		if a != machine.Native() {
			continue
		}
		file := "convention_" + c.arch + ".S"
		text, err := os.ReadFile(folder + "/reference/" + file)
		require.NoError(t, err)
		before, rest, found := strings.Cut(string(text), "lab_sum_over:\n")
		require.True(t, found)
		body, after, found := strings.Cut(rest, "    .size   lab_sum_over")
		require.True(t, found)
		dir := t.TempDir()
		text = []byte(
			before + "lab_sum_over:\n" + strings.ReplaceAll(body, c.from, c.to) + "    .size   lab_sum_over" + after,
		)
		require.NoError(t, os.WriteFile(filepath.Join(dir, file), text, 0o600))
		r := graded(t, a, dir)
		require.Equal(t, 10, r.Items[3].Points) // it sums, as long as strangers change nothing
		require.Equal(t, 0, r.Items[4].Points)
		require.Contains(t, r.Items[4].Faults[0].Text, c.want)
	}
}

// An instruction that the disassembler does not know, in a line that is nowhere, is no obstacle.
func TestInstructionWithoutText(t *testing.T) {
	if machine.Native() != machine.AMD64 {
		return // the disassembler knows all that each processor of arm64 has
	}
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(folder+"/reference")))
	file := filepath.Join(dir, "convention_amd64.S")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	before, after, found := strings.Cut(string(text), "lab_tenth:\n")
	require.True(t, found)
	const reserved = "# 1 \"nowhere.S\"\n    .byte 0x0f, 0x19, 0xc0\n" // does nothing
	require.NoError(t, os.WriteFile(file, []byte(before+"lab_tenth:\n"+reserved+after), 0o600))
	require.Equal(t, 100, graded(t, machine.AMD64, dir).Points)
}

// Solutions in C get full marks with clang as well, which gives line 0 to an instruction that belongs to several lines.
func TestClang(t *testing.T) {
	if _, err := exec.LookPath("clang"); err != nil {
		t.Skip(err)
	}
	t.Setenv("CC", "clang")
	for _, dir := range []string{"files", "c"} {
		r := graded(t, machine.Native(), folder+"/solutions/"+dir, folder+"/reference")
		require.Equal(t, 100, r.Points, dir)
	}
}

// A table that an editor has saved with a byte order mark and its own ends of lines has the same answers.
func TestTableOfAnotherEditor(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(folder+"/reference")))
	file := filepath.Join(dir, "answers_"+machine.Native().Name+".txt")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, []byte("\ufeff"+strings.ReplaceAll(string(text), "\n", "\r\n")), 0o600))
	require.Equal(t, 100, graded(t, machine.Native(), dir).Points)
}

// Each item names a section that the handout has.
func TestSections(t *testing.T) {
	lab := conventions.Labs()[0]
	text, err := os.ReadFile(filepath.Join(folder, lab.Handout))
	require.NoError(t, err)
	for _, item := range lab.Items {
		require.Contains(t, string(text), "\n## "+item.Section+" ", item.Name)
	}
}

// Of the strangers in explore.c idle keeps the register of the result, and each other one changes it.
func TestExploreShowsDifferentStrangers(t *testing.T) {
	each(t, func(t *testing.T, a *machine.Arch) {
		command, err := sandbox.Compiler(a)
		require.NoError(t, err)
		program := filepath.Join(t.TempDir(), "explore")
		command = append(
			command, "-O2", "-static", "-no-pie", "-I", folder, "-o", program, filepath.Join(folder, "explore.c"),
			filepath.Join(folder, "reference", "convention_"+a.Name+".S"),
		)
		out, err := exec.Command(command[0], command[1:]...).CombinedOutput()
		require.NoError(t, err, string(out))
		command = append(strings.Fields(os.Getenv("FIBERLAB_EXEC")), program)
		if a != machine.Native() {
			command = []string{a.Emulator, program}
		}
		out, err = exec.Command(command[0], command[1:]...).Output()
		require.NoError(t, err, string(out))
		rows := strings.Split(string(out), "\n")
		require.Equal(t, []string{"idle", "clocks", "allocates", "prints", "greedy"}, strings.Fields(rows[0]))
		result := map[*machine.Arch]string{machine.AMD64: "rax", machine.ARM64: "x0"}[a]
		require.Equal(t, []string{result, "kept", "-", "-", "-", "-"}, strings.Fields(rows[1]))
	})
}
