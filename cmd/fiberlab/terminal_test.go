package main

import (
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// onTerminal runs the command with a new terminal as its output and returns what appeared on it.
func onTerminal(t *testing.T, noColor string, args ...string) string {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	defer master.Close()
	require.NoError(t, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)

	c := command(args...)
	c.Env = append(c.Env, "NO_COLOR="+noColor)
	c.Stdout, c.Stderr = slave, slave
	require.NoError(t, c.Start())
	require.NoError(t, slave.Close())
	shown, _ := io.ReadAll(master) // ends in EIO once nobody has the other side open
	require.NoError(t, c.Wait(), string(shown))
	return string(shown)
}

func TestRunOnATerminal(t *testing.T) {
	dir := smallTree(t)
	shown := onTerminal(t, "", "run", "--quick", dir)
	for _, stage := range []string{"plain", "asm", "ucontext", "goroutine", "switch cost"} {
		require.Regexp(t, `\r`+stage+` +0% \|`, shown)
	}
	require.Contains(t, shown, "│ ucontext ")
	require.Contains(t, shown, "\x1b[1m")
	require.NotContains(t, shown, "goroutine: 4 words", "the bar and the table say so")
}

func TestNoColor(t *testing.T) {
	shown := onTerminal(t, "1", "bench", "--rounds", "1")
	require.Contains(t, shown, "│ ucontext ")
	require.NotContains(t, shown, "\x1b")
}
