package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fiberlab/labs/machine"
	"fiberlab/labs/sandbox"
)

// TestMain is the program itself if it was started as one.
func TestMain(m *testing.M) {
	sandbox.Init()
	if os.Getenv("LABS_IS_MAIN") != "" {
		main()
	}
	os.Exit(m.Run())
}

// Each signal by which users and terminals end a program leaves nothing behind.
func TestSignalsLeaveNothing(t *testing.T) {
	lab := "02"
	if machine.Native() == machine.ARM64 {
		lab = "03"
	}
	dir := t.TempDir()
	const endless = `#include <stddef.h>
const size_t marl_fiber_context_size = 64;
void marl_fiber_swap(void) { for (;;) __asm__ volatile(""); }
void marl_fiber_set_target(void) { marl_fiber_swap(); }
`
	require.NoError(t, os.WriteFile(filepath.Join(dir, "endless.c"), []byte(endless), 0o600))
	// A signal that this process ignores, as nohup has it, its children would ignore too.
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		scratch := t.TempDir()
		self, err := os.Executable()
		require.NoError(t, err)
		argv := append(strings.Fields(os.Getenv("FIBERLAB_EXEC")), self, "grade", lab, dir)
		c := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
		c.Env = append(os.Environ(), "LABS_IS_MAIN=1", "TMPDIR="+scratch)
		var said bytes.Buffer
		c.Stderr = &said
		require.NoError(t, c.Start())
		require.Eventually(t, func() bool { // the examination begins
			made, _ := filepath.Glob(filepath.Join(scratch, "*", "objects", "program"))
			return len(made) > 0
		}, time.Minute, 10*time.Millisecond)
		require.NoError(t, c.Process.Signal(sig))
		require.Error(t, c.Wait())
		if strings.Contains(said.String(), machine.ErrNoPtrace.Error()) {
			t.Skip(said.String())
		}
		require.Equal(t, 130, c.ProcessState.ExitCode(), "%v: %s", sig, said.String())
		left, err := os.ReadDir(scratch)
		require.NoError(t, err)
		require.Empty(t, left, sig.String())
	}
}

// A class whose grading is interrupted or killed, and taken up again, gets the gradebook that it gets otherwise. What
// was graded before is not graded again.
func TestGradeAllTakenUp(t *testing.T) {
	if err := machine.Controls(machine.Native()); err != nil {
		t.Skip(err)
	}
	if os.Getenv("FIBERLAB_EXEC") != "" {
		t.Skip("records are written alike on each architecture")
	}
	class := t.TempDir()
	for i := range 2 {
		student := filepath.Join(class, fmt.Sprintf("student %d", i))
		require.NoError(t, os.CopyFS(student, os.DirFS("../../labs/01/reference")))
	}
	require.NoError(t, os.CopyFS(filepath.Join(class, "zero"), os.DirFS("../../labs/01")))
	require.NoError(t, os.WriteFile(filepath.Join(class, "zero", "convention_held.c"), []byte("int held;\n"), 0o600))
	// The compiler stays with the last submission while there is a file hold, so that a signal comes before the end.
	tools := t.TempDir()
	compiler, hold := filepath.Join(tools, "cc"), filepath.Join(tools, "hold")
	words, err := sandbox.Compiler(machine.Native())
	require.NoError(t, err)
	script := fmt.Sprintf(
		"#!/bin/sh\ncase \" $* \" in *' convention_held.c '*) while [ -e %s ]; do sleep 0.01; done;; esac\nexec %s \"$@\"\n",
		hold, strings.Join(words, " "),
	)
	require.NoError(t, os.WriteFile(compiler, []byte(script), 0o700))
	program := func(out string) *exec.Cmd {
		self, err := os.Executable()
		require.NoError(t, err)
		argv := append(
			strings.Fields(os.Getenv("FIBERLAB_EXEC")), self, "grade-all", "1", class, "--out", out, "--seed", "7",
			"--jobs", "1",
		)
		c := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
		c.Env = append(os.Environ(), "LABS_IS_MAIN=1", "TMPDIR="+t.TempDir(), "CC="+compiler)
		return c
	}
	whole := t.TempDir()
	said, err := program(whole).CombinedOutput()
	require.NoError(t, err, string(said))
	for _, sig := range []syscall.Signal{syscall.SIGKILL, syscall.SIGINT} {
		out := t.TempDir()
		require.NoError(t, os.WriteFile(hold, nil, 0o600))
		c := program(out)
		require.NoError(t, c.Start())
		records := filepath.Join(out, "students", "*.json")
		require.Eventually(t, func() bool { made, _ := filepath.Glob(records); return len(made) > 0 },
			time.Minute, time.Millisecond)
		require.NoError(t, c.Process.Signal(sig))
		require.Error(t, c.Wait())
		require.NoError(t, os.Remove(hold))
		require.NoFileExists(t, filepath.Join(out, "gradebook.json"))
		made, err := filepath.Glob(records)
		require.NoError(t, err)
		before, err := os.Stat(made[0])
		require.NoError(t, err)
		said, err := program(out).CombinedOutput()
		require.NoError(t, err, string(said))
		after, err := os.Stat(made[0])
		require.NoError(t, err)
		require.True(t, os.SameFile(before, after))
		for _, name := range []string{"gradebook.json", "gradebook.csv", "index.html", "students/zero.json"} {
			want, err := os.ReadFile(filepath.Join(whole, name))
			require.NoError(t, err)
			got, err := os.ReadFile(filepath.Join(out, name))
			require.NoError(t, err)
			require.Equal(t, string(want), string(got), name)
		}
	}
}

// A terminal sends an interrupt to the whole group of the grader, at any time: while the grader asks the compiler what
// it is, too.
func TestInterruptAmongTheCompilersQuestions(t *testing.T) {
	words, err := sandbox.Compiler(machine.Native())
	require.NoError(t, err)
	for _, question := range []string{"-dumpmachine", "--version", "-E", "-print-search-dirs"} {
		dir := t.TempDir()
		compiler := filepath.Join(dir, "cc")
		script := fmt.Sprintf(
			"#!/bin/sh\ncase \" $* \" in *' %s '*)\n  kill -INT -$PPID\n  sleep 1;;\nesac\nexec %s \"$@\"\n", question,
			strings.Join(words, " "),
		)
		require.NoError(t, os.WriteFile(compiler, []byte(script), 0o700))
		self, err := os.Executable()
		require.NoError(t, err)
		argv := append(strings.Fields(os.Getenv("FIBERLAB_EXEC")), self, "grade", "1", "../../labs/01")
		c := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
		c.Env = append(os.Environ(), "LABS_IS_MAIN=1", "CC="+compiler)
		c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		var said bytes.Buffer
		c.Stderr = &said
		require.Error(t, c.Run())
		require.Equal(t, 130, c.ProcessState.ExitCode(), "%s: %s", question, said.String())
		require.Equal(t, "labs: interrupted\n", said.String(), question)
	}
}
