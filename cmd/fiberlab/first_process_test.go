package main

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/cmd/fiberlab/wordcount/wordcounttest"
	"fiberlab/internal/firstprocess"
	labs "fiberlab/labs/machine"
)

// asFirst returns the command fiberlab with args, to be run as process 1 of a namespace.
func asFirst(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	plain := command(args...)
	c := firstprocess.Command(t, plain.Args...)
	c.Env = plain.Env
	return c
}

// In a container, fiberlab is process 1 if it is the container's command. Each command works there. In short sizes run
// and a third of the others take part, drawn anew each time: the name of a sub-test names the command.
func TestEachCommandAsFirstProcess(t *testing.T) {
	dir := t.TempDir()
	wordcounttest.WriteFiles(t, dir, map[string]string{"a": "one two\n", "b/c": "three\n", "guesses": "asm 1 s\n"})
	traces, class := t.TempDir(), t.TempDir()
	require.NoError(t, os.CopyFS(traces, os.DirFS("testdata")))
	require.NoError(t, os.CopyFS(filepath.Join(class, "alice"), os.DirFS("../../labs/01/reference")))
	cases := map[string]struct {
		args []string
		says string
	}{
		"run":           {[]string{"run", "--quick", dir}, "asm"},
		"bench":         {[]string{"bench", "--quick"}, "asm"},
		"bench compare": {},
		"predict": {
			[]string{"predict", "--quick", "--guesses", filepath.Join(dir, "guesses")}, "times too much",
		},
		"demo deadlock":    {[]string{"demo", "deadlock"}, "The pool is stuck."},
		"demo lost-wakeup": {[]string{"demo", "lost-wakeup"}, "signal-before-wait"},
		"doctor":           {[]string{"doctor"}, "backends of fibers: asm"},
		"timeline":         {[]string{"timeline", filepath.Join(traces, "timeline.json")}, "open it in a browser"},
		"version":          {[]string{"version"}, "fiberlab"},
		"grade":            {[]string{"grade", "1", "../../labs/01/reference", "--seed", "1"}, "100 of 100 points"},
		"grade-all": {
			[]string{"grade-all", "1", class, "--out", filepath.Join(t.TempDir(), "out")}, "mean 100.0",
		},
		"points":      {[]string{"points", "2"}, "[items]"},
		"step":        {[]string{"step", "2", "../../labs/02/reference", "--seed", "1"}, "B swaps to A"},
		"explore":     {[]string{"explore", "../../labs/explore/testdata/classic/peterson.c"}, "No schedule fails"},
		"serve echo":  {},
		"serve http":  {},
		"serve files": {},
	}
	for _, name := range eachCommand(t) {
		require.Contains(t, cases, name, "it is not tried as process 1: add how")
	}
	first := rand.IntN(3)
	for i, name := range slices.Sorted(maps.Keys(cases)) {
		c := cases[name]
		if c.args == nil {
			continue // TestServeAsFirstProcess, and what reads two files
		}
		if testing.Short() && name != "run" && i%3 != first {
			continue
		}
		t.Run(name, func(t *testing.T) {
			if strings.HasPrefix(name, "grade") || name == "step" {
				needControl(t)
			}
			var stdout, stderr bytes.Buffer
			p := asFirst(t, c.args...)
			p.Stdout, p.Stderr = &stdout, &stderr
			err := p.Run()
			require.NoError(t, err, "%s%s", &stdout, &stderr)
			require.Contains(t, stdout.String(), c.says)
			require.NotContains(t, stdout.String(), "do not work here")
		})
	}
}

// needControl skips a test that controls a program, where that cannot be done.
func needControl(t *testing.T) {
	t.Helper()
	if err := labs.Controls(labs.Native()); err != nil {
		t.Skip(err)
	}
}

// eachCommand returns the names of all commands that do something, of those below the named one if there are words.
func eachCommand(t *testing.T, words ...string) (names []string) {
	help := run(t, append(words, "--help")...)
	require.Zero(t, help.code, help.stderr)
	_, list, some := strings.Cut(help.stdout, "Available Commands:\n")
	if !some {
		return []string{strings.Join(words, " ")}
	}
	list, _, _ = strings.Cut(list, "\n\n")
	for _, line := range strings.Split(list, "\n") {
		if name := strings.Fields(line)[0]; name != "help" && name != "completion" {
			names = append(names, eachCommand(t, append(slices.Clone(words), name)...)...)
		}
	}
	return names
}

// A server that is process 1 stops by a signal, as `docker stop` sends one, and by a second one at once.
func TestServeAsFirstProcess(t *testing.T) {
	for _, driver := range driversHere(t) {
		s := startServing(t, asFirst(t, "serve", "echo", "--driver", driver, "--addr", "127.0.0.1:0", "--grace", "1h"))
		c := connect(t, s.address)
		echoes(t, c, "hello")
		s.signal(syscall.SIGTERM)
		require.Contains(t, s.line(), "1 connection to be finished within 1h0m0s")
		require.NoError(t, c.Close())
		require.Zero(t, s.end().code)
	}
}

// Where /proc shows other processes, a lab's program is not looked for among them: it is emulated, or the remedy is
// named.
func TestLabsWithoutTheirOwnProc(t *testing.T) {
	needControl(t)
	for _, args := range [][]string{{"step", "2", "../../labs/02/reference"}, {"grade", "1", "../../labs/01/reference"}} {
		plain := command(args...)
		c := firstprocess.WithoutProc(t, plain.Args...)
		c.Env = plain.Env
		out, err := c.CombinedOutput()
		if err != nil {
			require.Contains(t, string(out), "unshare --mount-proc")
		}
	}
}
