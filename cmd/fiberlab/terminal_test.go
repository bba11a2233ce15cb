package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// onTerminal runs the command with a new terminal of so many columns as its output, with more variables in
// its environment, and returns what appeared on it.
func onTerminal(t *testing.T, columns int, environment []string, args ...string) string {
	t.Helper()
	return typed(t, "", columns, environment, args...)
}

// typed is as onTerminal, and the terminal is the command's input as well, at which keys are typed.
func typed(t *testing.T, keys string, columns int, environment []string, args ...string) string {
	t.Helper()
	c, master := startOnTerminal(t, keys, columns, environment, args...)
	shown, _ := io.ReadAll(master) // ends in EIO when the other side is closed
	require.NoError(t, c.Wait(), string(shown))
	return string(shown)
}

// startOnTerminal is typed for a command that the caller ends.
func startOnTerminal(
	t *testing.T, keys string, columns int, environment []string, args ...string,
) (*exec.Cmd, *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = master.Close() })
	require.NoError(t, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)

	require.NoError(
		t, unix.IoctlSetWinsize(int(slave.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 25, Col: uint16(columns)}),
	)

	c := command(args...)
	c.Env = append(c.Env, environment...)
	c.Stdin, c.Stdout, c.Stderr = slave, slave, slave
	_, err = io.WriteString(master, keys)
	require.NoError(t, err)
	require.NoError(t, c.Start())
	require.NoError(t, slave.Close())
	return c, master
}

func TestRunOnATerminal(t *testing.T) {
	dir := smallTree(t)
	shown := onTerminal(t, 100, nil, "run", "--quick", dir)
	for _, stage := range []string{"plain", "asm", "ucontext", "goroutine", "switch cost"} {
		require.Regexp(t, `\r`+stage+` +0% \|`, shown)
	}
	require.Contains(t, shown, "│ ucontext ")
	require.Contains(t, shown, "\x1b[1m")
	require.NotContains(t, shown, "goroutine: 4 words", "the bar and the table say so")
}

func TestNoColor(t *testing.T) {
	shown := onTerminal(t, 100, []string{"NO_COLOR=1"}, "bench", "--rounds", "1")
	require.Contains(t, shown, "│ ucontext ")
	require.NotContains(t, shown, "\x1b")
}

// No line is longer than the screen is wide: tables become lists of records.
func TestNarrowTerminals(t *testing.T) {
	dir := smallTree(t)
	t.Chdir(dir) // its name is short
	for _, columns := range []int{40, 60, 80} {
		for _, args := range [][]string{
			{"run", "--quick", "--states", "--policy", strings.Join(policyNames(), ","), "."}, {"run", "--help"},
		} {
			shown := onTerminal(t, columns, nil, args...)
			for _, line := range strings.FieldsFunc(shown, func(r rune) bool { return r == '\r' || r == '\n' }) {
				if !strings.Contains(line, dir) { // a path is not broken by us
					require.LessOrEqual(t, text.LongestLineLen(line), columns, "%q", line)
				}
			}
		}
	}
	shown := onTerminal(t, 40, nil, "run", "--no-table", ".")
	for _, row := range []string{`│\S* plain loop `, `│\S* goroutine `, `│ files +│ +2 │`, `│ words +│ +4 │`} {
		require.Regexp(t, row, shown)
	}
}

// In the locale C there is nothing but ASCII: neither in the tables nor in the bar.
func TestALocaleWithoutUTF8(t *testing.T) {
	for _, locale := range [][]string{
		{"LC_ALL=C"}, {"LC_ALL=", "LC_CTYPE=", "LANG="}, {"LC_ALL=", "LC_CTYPE=POSIX", "LANG=C.UTF-8"},
	} {
		shown := onTerminal(t, 100, locale, "run", "--quick", smallTree(t))
		require.Regexp(t, `(?m)^\| ucontext +\| +2 \|`, shown)
		require.Regexp(t, `\rplain +0% \[`, shown)
		for i, r := range shown {
			require.Less(t, r, rune(0x80), "%q", shown[max(0, i-20):i+1])
		}
	}
	shown := onTerminal(t, 100, []string{"LC_ALL=", "LC_CTYPE=", "LANG=de_DE.utf8"}, "bench", "--rounds", "1")
	require.Contains(t, shown, "│ ucontext ")
}
