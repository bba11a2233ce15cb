package uring_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"fiberlab/fiber"
	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/sched/uring"
	"fiberlab/sched/uring/fiberio"
	"fiberlab/tests/internal/child"
)

// terminal opens a new terminal, and returns both ends.
func terminal(t *testing.T) (program, user *os.File) {
	t.Helper()
	user, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = user.Close() })
	require.NoError(t, unix.IoctlSetPointerInt(int(user.Fd()), unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(int(user.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = program.Close() })
	return program, user
}

// A program reads its standard input, whatever that is, while other fibers go on. A Close ends a read that waits, and
// leaves the descriptor open.
func TestStdin(t *testing.T) {
	eachDriver(t, func(t *testing.T, driver uring.Driver) {
		name := t.TempDir() + "/input"
		text := strings.Repeat("some text\n", 2000)
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
		for _, c := range []struct {
			name string
			open func(t *testing.T) (stdin *os.File, feed func())
			want string
		}{
			{"file", func(t *testing.T) (*os.File, func()) {
				f, err := os.Open(name)
				require.NoError(t, err)
				t.Cleanup(func() { _ = f.Close() })
				return f, func() {}
			}, text},
			{"null", func(t *testing.T) (*os.File, func()) {
				f, err := os.Open(os.DevNull)
				require.NoError(t, err)
				t.Cleanup(func() { _ = f.Close() })
				return f, func() {}
			}, ""},
			{"pipe", func(t *testing.T) (*os.File, func()) {
				in, out, err := os.Pipe()
				require.NoError(t, err)
				t.Cleanup(func() { _ = in.Close() })
				return in, func() {
					for _, part := range strings.SplitAfterN(text, "\n", 20) {
						_, _ = io.WriteString(out, part)
						time.Sleep(100 * time.Microsecond)
					}
					_ = out.Close()
				}
			}, text},
			{"terminal", func(t *testing.T) (*os.File, func()) {
				program, user := terminal(t)
				return program, func() {
					_, _ = io.WriteString(user, "one\ntwo\n")
					time.Sleep(time.Millisecond)
					_, _ = io.WriteString(user, "\x04") // the end, on a new line
				}
			}, "one\ntwo\n"},
		} {
			for _, b := range fiber.Backends() {
				t.Run(c.name+"/"+b.String(), func(t *testing.T) {
					stdin, feed := c.open(t)
					cmd := child.Prepare(t.Context(), childStdin, b, envDriver+"="+driver.String())
					var out, complaints bytes.Buffer
					cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, &out, &complaints
					require.NoError(t, cmd.Start())
					go feed()
					require.NoError(t, cmd.Wait(), out.String()+complaints.String())
					require.Equal(t, fmt.Sprintf("%q\nok\n", c.want), out.String())
				})
			}
		}
	})
}

const envDriver = "FIBERLAB_STDIN_DRIVER"

// This child reads its standard input in a fiber of its only worker, with another fiber that must go on meanwhile. Then
// it closes it while it is read once more, unless that has ended by itself.
var childStdin = child.New("stdin", func(t child.T, b fiber.Backend) {
	driver, err := uring.ParseDriver(os.Getenv(envDriver))
	require.NoError(t, err)
	engines, s := attach(t, uring.Options{Driver: driver}, sched.Config{Workers: 1, Backend: b})
	stdin := fiberio.Stdin(engines)
	var read, ended, ticked fibersync.Event
	require.NoError(t, s.Go(func() {
		text, err := io.ReadAll(stdin)
		require.NoError(t, err)
		fmt.Printf("%q\n", text)
		read.Signal()
		_, err = stdin.Read(make([]byte, 10))
		if !errors.Is(err, fs.ErrClosed) {
			require.Equal(t, io.EOF, err)
		}
		ended.Signal()
	}))
	require.NoError(t, s.Go(ticked.Signal))
	ticked.Wait()
	read.Wait()
	require.NoError(t, stdin.Close())
	ended.Wait()
	require.ErrorIs(t, stdin.Close(), fs.ErrClosed)
	_, err = unix.FcntlInt(0, unix.F_GETFD, 0)
	require.NoError(t, err, "the descriptor is open still")
	require.NoError(t, s.Close())
	require.NoError(t, engines.Close())
})
