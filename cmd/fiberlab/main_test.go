package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
)

// asCommand names the environment variable that makes this test program the command itself.
const asCommand = "FIBERLAB_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
	}
	os.Exit(m.Run())
}

// command returns the command fiberlab with args, to be run as a process.
func command(args ...string) *exec.Cmd {
	words := append(strings.Fields(os.Getenv("FIBERLAB_EXEC")), os.Args[0])
	words = append(words, args...)
	c := exec.Command(words[0], words[1:]...)
	c.Env = append(os.Environ(), asCommand+"=1", "NO_COLOR=", "TERM=xterm")
	return c
}

// outcome is what a run of the command left behind.
type outcome struct {
	code           int
	stdout, stderr string
}

// test runs the command in this process, as main does.
func (l *lab) test(t *testing.T, args ...string) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	l.stdout, l.stderr = &stdout, &stderr
	err := l.execute(t.Context(), args)
	if err != nil {
		stderr.WriteString("fiberlab: " + oneLine(err) + "\n")
	}
	require.Equal(t, fiber.Stats{}, fiber.ReadStats(), "something is still held")
	return outcome{exitCode(err), stdout.String(), stderr.String()}
}

// run runs the command as a process.
func run(t *testing.T, args ...string) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	c := command(args...)
	c.Stdout, c.Stderr = &stdout, &stderr
	err := c.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	return outcome{c.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

func requireOneLine(t *testing.T, text string) {
	t.Helper()
	require.Equal(t, 1, strings.Count(text, "\n"), "one line, not: %q", text)
	require.True(t, strings.HasPrefix(text, "fiberlab: "), text)
}

func TestExitCodes(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"file": "text\n", "empty/": ""})
	for name, c := range map[string]struct {
		args []string
		code int
		text string
	}{
		"unknown flag":       {[]string{"run", "--speed"}, exitUsage, "unknown flag: --speed"},
		"unknown command":    {[]string{"walk"}, exitUsage, `unknown command "walk"`},
		"two directories":    {[]string{"run", dir, dir}, exitUsage, "accepts at most 1 arg(s), received 2"},
		"no such directory":  {[]string{"run", dir + "/none"}, exitUsage, dir + "/none: no such file or directory"},
		"a file":             {[]string{"run", dir + "/file"}, exitUsage, dir + "/file: not a directory"},
		"empty argument":     {[]string{"run", ""}, exitUsage, "DIR is empty"},
		"empty directory":    {[]string{"run", dir + "/empty"}, exitFailed, "no text file below " + dir + "/empty"},
		"unknown backend":    {[]string{"run", "--backend", "threads", dir}, exitUsage, `unknown backend "threads"`},
		"negative workers":   {[]string{"run", "--workers", "-1", dir}, exitUsage, "--workers -1: give a number from 0"},
		"too many workers":   {[]string{"run", "--workers", "99999", dir}, exitUsage, "--workers 99999: give a number from 0"},
		"unwritable trace":   {[]string{"run", "--trace", dir + "/none/t.json", dir}, exitUsage, "--trace: open " + dir + "/none/t.asm.json: no such file"},
		"trace directory":    {[]string{"run", "--trace", dir, dir}, exitUsage, "--trace: " + dir + " is a directory: name a file"},
		"no rounds":          {[]string{"bench", "--rounds", "0"}, exitUsage, "--rounds 0"},
		"rounds, no number":  {[]string{"bench", "--rounds", "many"}, exitUsage, `"many"`},
		"quick and rounds":   {[]string{"bench", "--quick", "--rounds", "9"}, exitUsage, "[quick rounds]"},
		"table and no table": {[]string{"run", "--no-table", "--quick"}, exitUsage, "[no-table quick]"},
		"bench of a tree":    {[]string{"bench", dir}, exitUsage, dir},
	} {
		t.Run(name, func(t *testing.T) {
			got := run(t, c.args...)
			require.Equal(t, c.code, got.code, got.stderr)
			requireOneLine(t, got.stderr)
			require.Contains(t, got.stderr, c.text)
			require.Empty(t, got.stdout)
		})
	}
}

func TestVersion(t *testing.T) {
	got := run(t, "version")
	require.Zero(t, got.code)
	require.Regexp(t, `^fiberlab \S+ go1\.\S+ linux/(amd64|arm64)\n$`, got.stdout)
}
