package command_test

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"fiberlab/labs/command"
	"fiberlab/labs/machine"
	"fiberlab/labs/record"
)

// stepThrough runs step with args in this process.
func stepThrough(ctx context.Context, args ...string) outcome {
	step := func(stdout, stderr io.Writer) *cobra.Command { return command.Step(os.Stdin, stdout, stderr) }
	return execute(ctx, step, args)
}

// Without arguments the reference for this machine is shown, and nothing is wrong with it.
func TestStepShowsTheReference(t *testing.T) {
	controls(t, machine.Native())
	o := stepThrough(t.Context(), "--seed", "1")
	require.Equal(t, 0, o.code, o.stderr)
	require.Empty(t, o.stderr)
	require.NotContains(t, o.stdout, "wrong")
	require.Regexp(
		t, `(?m)^   1  swap\.S:\d+  .+\n       .+\n       context of A \+0x0 = 0x[0-9a-f]+, \w+ of A, from \w+$`,
		o.stdout,
	)
	for _, note := range []string{"B swaps to A", "A swaps to B"} {
		require.Regexp(t, `(?m)^ +\d+  `+note+`$`, o.stdout)
	}
	require.Contains(t, o.stdout, ", where A goes on\n")
	// Where A goes on lies on its stack, too (amd64), but this is not where the swap loads it from.
	require.Regexp(
		t, `(?m)^       (rcx|x30) = 0x[0-9a-f]+, where A goes on, from context of A \+0x[0-9a-f]+$`, o.stdout,
	)
	require.Equal(t, o.stdout, stepThrough(t.Context(), "--seed", "1").stdout, "the seed decides the values")
}

// Fiberlab's own switch is shown, too, on each architecture, from a folder that has the files of both (docs/switch.md
// says how).
func TestStepShowsTheProjectsOwnSwitch(t *testing.T) {
	controls(t, machine.AMD64)
	controls(t, machine.ARM64)
	dir := t.TempDir()
	files, err := filepath.Glob(filepath.Join("..", "..", "asm", "*.[chS]"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, filepath.Base(file)), text, 0o600))
	}
	size := "#include \"context.h\"\nconst size_t marl_fiber_context_size = sizeof(struct marl_fiber_context);\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "size.c"), []byte(size), 0o600))
	for number, file := range map[string]string{"2": "swap_amd64.S", "3": "swap_arm64.S"} {
		o := stepThrough(t.Context(), number, dir)
		require.Equal(t, 0, o.code, o.stderr)
		require.NotContains(t, o.stdout, "wrong")
		require.Contains(t, o.stdout, file)
		require.Contains(t, o.stdout, ", where B goes on\n")
	}
}

// wrongSwap is a copy of this machine's reference in which one offset is changed in the load of a register,
// and that register.
func wrongSwap(t *testing.T) (dir, register string) {
	t.Helper()
	number, load, offset, register := "02", `(?m)^\s*movq\s+REG_R12\(%rsi\), %r12`, "REG_R12", "r12"
	if machine.Native() == machine.ARM64 {
		number, load, offset, register = "03", `(?m)^\s*ldp\s+x21, x22, \[x1, #REG_X21\]`, "REG_X21", "x21"
	}
	dir = t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join("..", number, "reference"))))
	file := filepath.Join(dir, "swap.S")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	found := regexp.MustCompile(load).FindString(string(text))
	require.NotEmpty(t, found, "%s has no such line: %s", file, load)
	changed := strings.Replace(string(text), found, strings.Replace(found, offset, offset+"+8", 1), 1)
	require.NoError(t, os.WriteFile(file, []byte(changed), 0o600))
	return dir, register
}

// The first wrong instruction is marked, in each of the ways of showing it.
func TestStepMarksTheWrongInstruction(t *testing.T) {
	controls(t, machine.Native())
	dir, register := wrongSwap(t)
	o := stepThrough(t.Context(), dir)
	require.Equal(t, 0, o.code, o.stderr)
	require.Regexp(
		t,
		`(?m)^ +\d+  swap\.S:\d+  .*`+register+`.*\n(       .*\n)+(     ! .*\n)*     ! `+register+` comes back `+
			`changed: .*$`,
		o.stdout,
	)

	var r record.Recording
	o = stepThrough(t.Context(), dir, "--json")
	require.NoError(t, json.Unmarshal([]byte(o.stdout), &r))
	k := slices.IndexFunc(
		r.Findings, func(f record.Finding) bool { return strings.HasPrefix(f.Text, register+" comes back changed") },
	)
	require.GreaterOrEqual(t, k, 0, "%v", r.Findings)
	require.Contains(t, r.Steps[r.Findings[k].Step].Source, register)

	page := filepath.Join(t.TempDir(), "page.html")
	o = stepThrough(t.Context(), dir, "--html", page)
	require.Equal(t, outcome{}, o)
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	require.True(t, strings.Contains(string(text), register+" comes back changed"))
	require.True(t, strings.HasSuffix(string(text), "</html>\n"))
}

// The Makefile of a lab's folder says which lab it is.
func TestStepKnowsTheFolder(t *testing.T) {
	controls(t, machine.Native())
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join("..", "05", "reference"))))
	makefile, err := os.ReadFile(filepath.Join("..", "05", "Makefile"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "Makefile"), makefile, 0o600))
	o := stepThrough(t.Context(), dir)
	require.Equal(t, 0, o.code, o.stderr)
	require.True(
		t, strings.HasPrefix(o.stdout, "ucontext and its price ("+machine.Native().Name+", "), "%.200s", o.stdout,
	)

	o = stepThrough(t.Context(), filepath.Join("..", "01"))
	require.Equal(t, 2, o.code)
	require.Contains(t, o.stderr, "lab 01 has no switch to step through: choose one of 02, 03, 05")

	other, compiler := "03", "aarch64-linux-gnu-gcc"
	if machine.Native() == machine.ARM64 {
		other, compiler = "02", "x86_64-linux-gnu-gcc"
	}
	t.Setenv("PATH", t.TempDir())
	o = stepThrough(t.Context(), filepath.Join("..", other))
	require.Equal(t, 2, o.code)
	require.Contains(t, o.stderr, compiler, "it is built for the architecture that the lab is about")
}

// What the folder holds instead of a Makefile is not waited for.
func TestStepWithoutMakefile(t *testing.T) {
	controls(t, machine.Native())
	dir, _ := wrongSwap(t)
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "Makefile"), 0o600))
	require.Equal(t, 0, stepThrough(t.Context(), dir, "--json").code)
}

func TestStepUnbuilt(t *testing.T) {
	dir, _ := wrongSwap(t)
	require.NoError(
		t,
		os.WriteFile(filepath.Join(dir, "swap.S"), []byte("    .text\n    nonsense\n    .error \"\x1b[2J\"\n"), 0o600),
	)
	o := stepThrough(t.Context(), dir)
	require.Equal(t, 3, o.code)
	require.NotContains(t, o.stderr, "\x1b", "it moves the cursor")
	require.Contains(t, o.stderr, "swap.S:2: ")
	require.Empty(t, o.stdout)
}

func TestStepUsage(t *testing.T) {
	controls(t, machine.Native())
	for want, args := range map[string][]string{
		`lab "99"`: {"99"},
		"lab 01 has no switch to step through: choose one of 02, 03, 05": {"1"},
		`"a" is no lab`:                         {"a", "b"},
		"give a lab and one folder":             {"2", "a", "b"},
		"--arch vax":                            {"--arch", "vax"},
		"--html has no value":                   {"--html", ""},
		"give one of them":                      {"--json", "--list"},
		"/nowhere/at/all":                       {"/nowhere/at/all"},
		"DIR is empty":                          {""},
		"--html: open /nowhere/x.html: no such": {"--html", "/nowhere/x.html"},
	} {
		o := stepThrough(t.Context(), args...)
		require.Equal(t, 2, o.code, want)
		require.Contains(t, o.stderr, want)
		require.Equal(t, 1, strings.Count(o.stderr, "\n"), o.stderr)
		require.Empty(t, o.stdout)
	}
}

// A machine without a compiler is told so in one line.
func TestStepWithoutCompiler(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("CC", "")
	o := stepThrough(t.Context())
	require.Equal(t, 2, o.code)
	require.Equal(t, 1, strings.Count(o.stderr, "\n"), o.stderr)
	require.Contains(t, o.stderr, "compiler")
}
