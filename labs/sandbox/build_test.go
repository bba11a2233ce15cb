package sandbox_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/labs/machine"
	"fiberlab/labs/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Init()
	os.Exit(m.Run())
}

const harness = "int answer(void);\nint getpagesize(void);\nint main(void) { return answer() + 0 * getpagesize(); }\n"

// build builds those sources with the harness.
func build(t *testing.T, a *machine.Arch, sources map[string]string, may ...string) (*sandbox.Built, error) {
	t.Helper()
	from, dir, work := t.TempDir(), t.TempDir(), t.TempDir()
	for name, text := range sources {
		require.NoError(t, os.WriteFile(filepath.Join(from, name), []byte(text), 0o600))
	}
	names, err := sandbox.Collect(from, []string{"*.c", "*.S", "*.h"}, dir)
	require.NoError(t, err)
	return sandbox.Build(t.Context(), sandbox.BuildOptions{
		Arch: a, Dir: dir, Sources: names, Harness: map[string]string{"harness.c": harness}, Work: work,
		Calls: []string{"answer"}, May: may,
	})
}

func TestBuildAndRun(t *testing.T) {
	b, err := build(
		t, machine.Native(),
		map[string]string{
			"answer.c": `#include "answer.h"` + "\nint answer(void) { int unused; return ANSWER; }\n",
			"answer.h": "#define ANSWER 42\n",
		},
	)
	require.NoError(t, err)
	require.Len(t, b.Warnings, 1)
	require.Contains(t, b.Warnings[0], "answer.c:2:24: warning: unused variable")
	argv := sandbox.Wrap([]string{b.Path}, sandbox.Limits{})
	if words := strings.Fields(os.Getenv("FIBERLAB_EXEC")); len(words) > 0 {
		argv = sandbox.Wrap(append(words, b.Path), sandbox.Limits{})
	}
	c := exec.Command(argv[0], argv[1:]...)
	out, _ := c.CombinedOutput()
	require.Equal(t, 42, c.ProcessState.ExitCode(), string(out))
}

// A source may have the name that a source of the grader has.
func TestNameOfTheHarness(t *testing.T) {
	for _, name := range []string{"harness.c", "harness-harness.c"} {
		_, err := build(t, machine.Native(), map[string]string{name: "int answer(void) { return 42; }\n"})
		require.NoError(t, err, name)
	}
}

func TestBuildErrors(t *testing.T) {
	for name, c := range map[string]struct{ file, source, want string }{
		"C":        {"answer.c", "int answer(void) { return x; }\n", "answer.c:1: error: 'x' undeclared"},
		"assembly": {"answer.S", "\n\tmov2 r12\n", "answer.S:2: Error: "},
		"undefined": {
			"answer.c", "int other(void);\nint answer(void) { return other(); }\n",
			"undefined reference to `other'",
		},
		"missing": {"answer.c", "", "undefined reference to `answer'"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := build(t, machine.Native(), map[string]string{c.file: c.source})
			var failed *sandbox.BuildError
			require.ErrorAs(t, err, &failed)
			require.Contains(t, err.Error(), c.want)
		})
	}
}

// A harness that does not build is no fault of the sources.
func TestWrongHarness(t *testing.T) {
	_, err := sandbox.Build(t.Context(), sandbox.BuildOptions{
		Arch: machine.Native(), Dir: t.TempDir(), Work: t.TempDir(), Harness: map[string]string{"wrong.c": "int x\n"},
	})
	require.ErrorContains(t, err, "the harness: .harness-wrong.c:1: error: expected ")
	require.False(t, errors.As(err, new(*sandbox.BuildError)), "the sources get the blame: %v", err)
}

// What the compiler takes for all files together is bounded, too.
func TestManySlowFiles(t *testing.T) {
	dir := t.TempDir()
	var sources []string
	for _, name := range []string{"a.c", "b.c", "c.c"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("int "+name[:1]+";\n"), 0o600))
		sources = append(sources, name)
	}
	_, err := sandbox.Build(
		t.Context(),
		sandbox.BuildOptions{Arch: machine.Native(), Dir: dir, Sources: sources, Work: t.TempDir(), CPU: 1},
	)
	var failed *sandbox.BuildError
	require.ErrorAs(t, err, &failed)
	require.Equal(
		t, "the compiler needs more than 1ns for all files together: hand in fewer, or shorter ones", failed.Error(),
	)
}

// A compiler that the kernel kills because memory is short is no fault of the sources.
func TestCompilerKilled(t *testing.T) {
	words, err := sandbox.Compiler(machine.Native())
	require.NoError(t, err)
	for name, dies := range map[string]string{
		"a part of it": "echo 'gcc: fatal error: Killed signal terminated program cc1' >&2; exit 1",
		"all of it":    "kill -KILL $$",
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			cc, short := filepath.Join(home, "bin", "cc"), filepath.Join(home, "short")
			require.NoError(t, os.Mkdir(filepath.Dir(cc), 0o700))
			script := fmt.Sprintf(
				"#!/bin/sh\ncase \"$*\" in *answer.c) [ ! -e %s ] || { %s; } ;; esac\nexec %s \"$@\"\n", short, dies,
				strings.Join(words, " "),
			)
			require.NoError(t, os.WriteFile(cc, []byte(script), 0o700))
			require.NoError(t, os.WriteFile(short, nil, 0o600))
			t.Setenv("CC", cc)
			sources := map[string]string{"answer.c": "int answer(void) { return 42; }\n"}
			_, err := build(t, machine.Native(), sources)
			require.ErrorContains(t, err, "the compiler was killed")
			require.False(t, errors.As(err, new(*sandbox.BuildError)), "the sources get the blame: %v", err)
			require.NoError(t, os.Remove(short))
			_, err = build(t, machine.Native(), sources)
			require.NoError(t, err)
		})
	}
}

// A compiler that is missing, or makes programs for another architecture, is one line with the remedy.
func TestCompilerMissing(t *testing.T) {
	native, foreign := machine.AMD64, machine.ARM64
	if machine.Native() == foreign {
		native, foreign = foreign, native
	}
	t.Setenv("CC", "true")
	_, err := sandbox.Compiler(native)
	require.ErrorContains(
		t, err, "the C compiler true makes programs for , not for "+native.Name+": install gcc, or set CC",
	)
	t.Setenv("PATH", t.TempDir())
	_, err = sandbox.Compiler(foreign)
	require.ErrorContains(
		t, err,
		"there is no C compiler for "+foreign.Name+": "+foreign.Triple+"-gcc is not on PATH: "+
			"scripts/need foreign installs it",
	)
	t.Setenv("CC", "missing-cc")
	_, err = sandbox.Compiler(native)
	require.ErrorContains(t, err, "missing-cc is not on PATH: install gcc, or set CC")
}
