package explored_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/labs/check/explored"
	"fiberlab/labs/grade"
	"fiberlab/labs/machine"
	"fiberlab/labs/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Init()
	os.Exit(m.Run())
}

// graded grades the reference of the first lab after change has written to a copy of it: the items of that name, or
// all.
func graded(t *testing.T, change func(dir string), items ...string) *grade.Report {
	t.Helper()
	lab := *explored.Labs()[0]
	lab.Items = slices.DeleteFunc(slices.Clone(lab.Items), func(item grade.Item) bool {
		return len(items) > 0 && !slices.Contains(items, item.Name)
	})
	require.GreaterOrEqual(t, len(lab.Items), len(items))
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join("..", "..", lab.Number, "reference"))))
	change(dir)
	r, err := lab.Grade(t.Context(), grade.Options{
		Arch: machine.Native(), Dir: dir, Seed: 1, Emulator: strings.Fields(os.Getenv("FIBERLAB_EXEC")),
	})
	require.NoError(t, err)
	return r
}

func TestLabsHaveAHundredPoints(t *testing.T) {
	for _, lab := range explored.Labs() {
		points := 0
		for _, item := range lab.Items {
			points += item.Points
		}
		require.Equal(t, 100, points, lab.Number)
	}
}

// The references of all labs get full marks in labs-selftest.
func TestReference(t *testing.T) {
	r := graded(t, func(string) {}, "a fiber waits until it is notified", "deadlines come in their order")
	require.True(t, r.Full())
}

// A reference that clang has built gets full marks, too. In lab 10, clang copies a struct with what lies between its
// members, which is not the same in each run.
func TestClang(t *testing.T) {
	if _, err := exec.LookPath("clang"); err != nil || os.Getenv("FIBERLAB_EXEC") != "" {
		t.Skip("clang for this machine is needed")
	}
	t.Setenv("CC", "clang")
	quick := map[string]string{
		"06": "a notification comes from another thread", "07": "a slot keeps a wake that comes before the wait",
		"08": "a slot is used again", "09": "a get of a task in progress sleeps", "10": "completions come in any order",
	}
	for _, lab := range explored.Labs() {
		lab.Items = slices.DeleteFunc(lab.Items, func(item grade.Item) bool { return item.Name != quick[lab.Number] })
		r, err := lab.Grade(t.Context(), grade.Options{
			Arch: machine.Native(), Dir: filepath.Join("..", "..", lab.Number, "reference"), Seed: 5,
		})
		require.NoError(t, err)
		require.Len(t, r.Items, 1)
		require.True(t, r.Full(), "%s: %v", lab.Number, r.Items)
	}
}

// A fault has a sentence, a schedule and its steps, with lines of the submission.
func TestFault(t *testing.T) {
	r := graded(t, func(dir string) {
		file := filepath.Join(dir, "scheduler.c")
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		lock := regexp.MustCompile(`explore_lock\([^)]*\);`)
		require.Regexp(t, lock, string(text))
		require.NoError(t, os.WriteFile(file, lock.ReplaceAll(text, []byte(";")), 0o600))
	}, "tasks come from another thread")
	require.Less(t, r.Points, r.Of)
	var faults []grade.Fault
	for _, item := range r.Items {
		faults = append(faults, item.Faults...)
	}
	require.NotEmpty(t, faults)
	f := faults[0]
	require.Contains(t, f.Text, "--replay "+f.Schedule)
	require.NotEmpty(t, f.Steps)
	require.Equal(t, "scheduler.c", f.Place.File)
	lines := 0
	for _, s := range f.Steps {
		if s.Source != "" && s.Place.Function != "" {
			lines++
		}
	}
	require.NotZero(t, lines)
}

// What is not plain C does not build, and the report says why.
func TestRefused(t *testing.T) {
	for _, c := range []struct{ text, said string }{
		{"#define A(x) x##m__\n__attribute__((const)) int a;\nvoid f(void) { A(__as)(\"\"); }", "uses __asm__"},
		{"#line 7 \"other.c\"\nint a;", "says by #line"},
		{"#include <stdio.h>\nvoid f(void) { printf(\"{}\"); puts(\"\"); }", "not allowed in this lab"},
		{"void explore_check(int holds, char *claim) { (void)holds; (void)claim; }", "a name of the grader"},
		{"int main(void) { return 0; }", "a C program begins"},
		{"#include \"/etc/passwd\"", "includes /etc/passwd"},
		{
			"#define A(x) x##m__\n#define atof(x) a(void); A(__as)(\"\"); double b(void)\n#include <stdlib.h>",
			"defines atof, a name in stdlib.h: include that before",
		},
	} {
		r := graded(t, func(dir string) {
			require.NoError(t, os.WriteFile(filepath.Join(dir, "more.c"), []byte(c.text+"\n"), 0o600))
		})
		require.NotNil(t, r.Build, c.text)
		require.True(t, r.Build.Failed, c.text)
		require.Contains(t, strings.Join(r.Build.Said, "\n"), c.said, c.text)
		require.Zero(t, r.Points)
	}
}

// No header of a submission is part of a scenario.
func TestOwnHeaders(t *testing.T) {
	r := graded(t, func(dir string) {
		const text = "#define explore_check(holds, claim) (void)(holds)\n"
		for _, name := range []string{"scheduler.h", "explore.h", "assert.h"} {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		}
		file := filepath.Join(dir, "scheduler.c")
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		source = []byte("#define assert(holds)\n" + strings.Replace(string(source), "if (w->asleep)", "if (0)", 1))
		require.NoError(t, os.WriteFile(file, source, 0o600))
	}, "tasks run in their order, on idle fibers", "a worker sleeps on a thread of its own")
	require.Less(t, r.Points, r.Of)
	require.NotZero(t, r.Points)
	require.Contains(t, strings.Join(r.Remarks, "\n"), "the lab's own scheduler.h")
}

// What a student's submission lacks, it lacks. A solution has the rest of its files in the reference.
func TestFileThatIsMissing(t *testing.T) {
	lab := *explored.Labs()[1]
	reference, dir := filepath.Join("..", "..", lab.Number, "reference"), t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(reference)))
	require.NoError(t, os.Remove(filepath.Join(dir, "queue.c")))
	o := grade.Options{Arch: machine.Native(), Dir: dir, Seed: 1}
	r, err := lab.Grade(t.Context(), o)
	require.NoError(t, err)
	require.Zero(t, r.Points)
	require.Equal(t, []string{"nothing defines queue_put: the lab needs it (handout.md)"}, r.Build.Said)

	o.Rest = []string{reference}
	_, err = lab.With(t.Context(), o, func(b *grade.Bench) (*grade.Report, error) {
		require.Contains(t, b.Objects, filepath.Join(b.Work, "queue.c.o"))
		return nil, nil
	})
	require.NoError(t, err)
	o.Rest = []string{filepath.Join(reference, "none")}
	_, err = lab.Grade(t.Context(), o)
	require.ErrorContains(t, err, "the folder with the rest of the solution: ")
}

// A student's swap.S takes the place of the given one, in make explore as in the grader.
func TestExploreOwnSwap(t *testing.T) {
	root, err := filepath.Abs("../../..")
	require.NoError(t, err)
	dir, build := filepath.Join(t.TempDir(), "06"), t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join(root, "labs", "06"))))
	explore := func(swap string) string {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "swap.S"), []byte(swap), 0o600))
		said, err := exec.Command("make", "-C", dir, "FIBERLAB="+root, "BUILD="+build, "explore").CombinedOutput()
		require.Error(t, err, "the skeleton fails")
		return string(said)
	}
	require.Contains(t, explore(".error \"the own one\"\n"), "Error: the own one")
	given, err := os.ReadFile(filepath.Join(root, "labs", "swap", "swap_"+machine.Native().Name+".S"))
	require.NoError(t, err)
	require.Contains(t, explore(string(given)), "Schedule: ")
}
