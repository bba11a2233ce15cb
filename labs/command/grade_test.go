package command_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"fiberlab/labs/command"
	"fiberlab/labs/grade"
	"fiberlab/labs/machine"
	"fiberlab/labs/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Init()
	os.Exit(m.Run())
}

// outcome is what a command left behind.
type outcome struct {
	code           int
	stdout, stderr string
}

// run runs grade with args in this process.
func run(ctx context.Context, args ...string) outcome { return execute(ctx, command.Grade, args) }

// execute runs the command that build makes, with args, in this process.
func execute(ctx context.Context, build func(stdout, stderr io.Writer) *cobra.Command, args []string) outcome {
	var stdout, stderr bytes.Buffer
	c := build(&stdout, &stderr)
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetArgs(append([]string{}, args...)) // of none, too: nil stands for those of this process
	c.SetOut(&stdout)
	err := c.ExecuteContext(ctx)
	return outcome{command.ExitCode(err), stdout.String(), stderr.String() + command.Message("labs", err)}
}

const folder = "../01"

// controls skips a test of which no program can be controlled here.
func controls(t *testing.T, a *machine.Arch) {
	t.Helper()
	if err := machine.Controls(a); err != nil {
		t.Skip(err)
	}
}

func TestGradeFull(t *testing.T) {
	controls(t, machine.Native())
	o := run(t.Context(), "1", folder+"/reference", "--seed", "42")
	require.Equal(t, 0, o.code, o.stderr+o.stdout)
	require.Contains(t, o.stdout, " 10 of 10  lab_tenth finds an argument on the stack\n")
	require.Contains(t, o.stdout, "\n100 of 100 points. Sections are those of handout.md in labs/01. Seed: 42.\n")
	require.Empty(t, o.stderr)
}

func TestGradeLost(t *testing.T) {
	controls(t, machine.Native())
	o := run(t.Context(), "01", folder, "--json", "--seed", "7")
	require.Equal(t, 1, o.code, o.stderr)
	var r grade.Report
	require.NoError(t, json.Unmarshal([]byte(o.stdout), &r))
	require.Equal(t, "01", r.Lab)
	require.Equal(t, machine.Native().Name, r.Arch)
	require.Equal(t, uint64(7), r.Seed)
	require.Equal(t, 0, r.Points)
	require.Equal(t, 100, r.Of)
	require.NotEmpty(t, r.Items[0].Faults[0].Text)
	require.Equal(t, "1.2", r.Items[0].Faults[0].Section)
}

// A file that does not build costs all points, and the report says what the compiler says, whatever it is made of.
func TestGradeUnbuilt(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "convention.c"), []byte("int \x1b[31mx;\n"), 0o600))
	o := run(t.Context(), "1", dir)
	require.Equal(t, 3, o.code, o.stderr)
	require.Contains(t, o.stdout, "It does not build:\n    convention.c:1: ")
	require.NotContains(t, o.stdout, "\x1b")
	require.Contains(t, o.stdout, "0 of 100 points")
}

// A submission that brings its own lab and points is graded by the grader's lab and points.
func TestGradeBrought(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"convention.c", "01/lab.toml", "labs/01/points.toml"} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("nonsense"), 0o600))
	}
	t.Chdir(dir)
	for _, number := range []string{"01", "1"} {
		o := run(t.Context(), number, ".")
		require.Equal(t, 3, o.code, o.stderr)
		require.Contains(t, o.stdout, "0 of 100 points")
	}
	require.NoError(t, os.Rename("01", "77"))
	require.Contains(t, run(t.Context(), "77", ".").stderr, `lab "77": there are 01, `)
}

func TestGradeUsage(t *testing.T) {
	for want, args := range map[string][]string{
		"labs: grade needs the number of a lab: one of 01, ":                                  {},
		"labs: lab \"77\": there are 01, ":                                                    {"77"},
		"labs: grade 1 a b: give a lab and one folder\n":                                      {"1", "a", "b"},
		"labs: DIR is empty: leave it out":                                                    {"1", ""},
		"labs: --seed -3: give a number from 0 up, such as the one that a report names\n":     {"1", "--seed", "-3"},
		"labs: --arch mips: choose one of amd64 and arm64\n":                                  {"1", "--arch", "mips"},
		"labs: --arch has no value: choose one of amd64 and arm64\n":                          {"1", "--arch"},
		"labs: --points has no value: name a file like those that fiberlab points LAB prints": {"1", "--points"},
		"name a folder, an archive or a bare git repository\n":                                {"1", "none", "--as", "junit"},
		"read .: is a directory: fiberlab points LAB prints what may stand in it\n":           {"1", "--points", "."},
		"labs: the folder of the submission: open missing: no such file or directory\n":       {"1", "missing"},
		"labs: . has no file for lab 01 on " + machine.Native().Name + ": it needs some of c": {"1", "."},
	} {
		o := run(t.Context(), args...)
		require.Equal(t, 2, o.code, want)
		require.Contains(t, o.stderr, want)
		require.Empty(t, o.stdout)
	}
}

func TestPointsUsage(t *testing.T) {
	for want, args := range map[string][]string{
		"labs: points needs one lab: points 2\n":                     {},
		"labs: --arch has no value: choose one of amd64 and arm64\n": {"1", "--arch"},
		"unknown flag: --nosuch: points --help lists the flags\n":    {"1", "--nosuch"},
	} {
		o := execute(t.Context(), func(stdout, _ io.Writer) *cobra.Command { return command.PrintPoints(stdout) }, args)
		require.Equal(t, 2, o.code, want)
		require.Contains(t, o.stderr, want)
	}
}

func TestGradeAllUsage(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	due := file("due.toml", "[late]\ndue = 2030-01-31T23:59:00+01:00\n")
	wrong := file("wrong.csv", "\ufeffalice,2030-01-31\n")
	for want, args := range map[string][]string{
		"--times: the points have no due date: ":   {"--times", wrong},
		"the points have a due date: give --times": {"--points", due},
		"--times: open none: ":                     {"--points", due, "--times", "none"},
		`: alice: "2030-01-31": write a time as `:  {"--points", due, "--times", wrong},
	} {
		o := execute(t.Context(), command.GradeAll, append([]string{"1", dir, "--out", "out"}, args...))
		require.Equal(t, 2, o.code, want)
		require.Contains(t, o.stderr, want)
	}
	times := file("times.csv", "\ufeffstudent,time\nbob,2030-01-31T23:59:00+01:00\n")
	file("alice.ZIP", "")
	o := execute(t.Context(), command.GradeAll, []string{"1", dir, "--out", due, "--points", due, "--times", times})
	require.Equal(t, 2, o.code)
	require.Contains(t, o.stderr, "times.csv: bob has no submission in "+dir+"\n")
	require.Contains(t, o.stderr, "left out: wrong.csv: it is neither a folder nor an archive\n")
	require.Contains(t, o.stderr, "choose a folder that is apart from the submissions")
	plain := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(plain, nil, 0o600))
	o = execute(t.Context(), command.GradeAll, []string{"1", dir, "--out", plain})
	require.Contains(t, o.stderr, "not a directory: choose a new folder\n")
}

func TestGradeInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o := run(ctx, "1", folder)
	require.Equal(t, 130, o.code)
	require.Equal(t, "labs: interrupted\n", o.stderr)
}

// Each lab has a Makefile, which finds the rest of fiberlab or says how to.
func TestMakefiles(t *testing.T) {
	labs, err := filepath.Glob("../[0-9][0-9]")
	require.NoError(t, err)
	require.NotEmpty(t, labs)
	here, err := filepath.Abs("../..")
	require.NoError(t, err)
	for _, lab := range labs {
		text, err := os.ReadFile(filepath.Join(lab, "Makefile"))
		require.NoError(t, err)
		require.Contains(t, string(text), "LAB = "+filepath.Base(lab)+"\n")
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "Makefile"), text, 0o600))
		out, err := exec.Command("make", "-C", dir).CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(out), "say where fiberlab is: make FIBERLAB=/path/to/fiberlab")
		out, err = exec.Command("make", "-n", "-C", dir, "FIBERLAB="+here, "SEED=5").CombinedOutput()
		require.NoError(t, err, string(out))
		require.Contains(t, string(out), here+"/build/labs\" grade "+filepath.Base(lab)+" --arch ")
		out, err = exec.Command("make", "-n", "-C", lab, "ARCH=mips").CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(out), "ARCH=mips: choose one of amd64 and arm64")
	}
}
