package step

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"fiberlab/internal/leaktest"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if err := leaktest.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// openTerminal returns both sides of a new terminal.
func openTerminal(t *testing.T, columns, rows int) (master, slave *os.File) {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	require.NoError(t, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	require.NoError(t, err)
	require.NoError(t, unix.SetNonblock(fd, true)) // so that Close ends a Read
	master = os.NewFile(uintptr(fd), "/dev/ptmx")
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { slave.Close(); master.Close() })
	resize(t, slave, columns, rows)
	return master, slave
}

func resize(t *testing.T, terminal *os.File, columns, rows int) {
	require.NoError(t, unix.IoctlSetWinsize(
		int(terminal.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(rows), Col: uint16(columns)},
	))
}

// session is a reader at a terminal.
type session struct {
	t      *testing.T
	master *os.File
	slave  *os.File
	shown  strings.Builder
	done   chan error
	cancel context.CancelFunc
}

func begin(t *testing.T, columns, rows int) *session {
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "1")
	t.Setenv("LC_ALL", "C.UTF-8")
	ctx, cancel := context.WithCancel(t.Context())
	s := &session{t: t, done: make(chan error, 1), cancel: cancel}
	s.master, s.slave = openTerminal(t, columns, rows)
	p := at(t, sampleAMD64(t, true), 0)
	go func() { s.done <- Browse(ctx, p, s.slave, s.slave) }()
	t.Cleanup(cancel)
	return s
}

// see waits until the screen shows what matches.
func (s *session) see(pattern string) {
	s.t.Helper()
	wanted := regexp.MustCompile(pattern)
	buffer := make([]byte, 1<<16)
	require.NoError(s.t, s.master.SetReadDeadline(time.Now().Add(time.Minute)))
	for {
		frames := strings.Split(s.shown.String(), "\x1b[H")
		if wanted.MatchString(frames[len(frames)-1]) {
			return
		}
		n, err := s.master.Read(buffer)
		s.shown.Write(buffer[:n])
		require.NoError(s.t, err, "waiting for %q; the screen shows %q", pattern, frames[len(frames)-1])
	}
}

func (s *session) press(keys string) {
	_, err := s.master.WriteString(keys)
	require.NoError(s.t, err)
}

func TestKeys(t *testing.T) {
	s := begin(t, 80, 24)
	s.see(`step 0 of 37`)
	for _, key := range []struct{ keys, see string }{
		{"\x1b[C", "step 1 of 37"}, {"n", "step 2 of 37"}, {"\x1b[B", "step 3 of 37"},
		{"\x1b[D", "step 2 of 37"}, {"p", "step 1 of 37"},
		{"\x1bOA", "step 0 of 37"}, {"p", "step 0 of 37"}, {"G", "step 37 of 37"}, {"n", "step 37 of 37"},
		{"\x1b[5~", "step 27 of 37"}, {"g", "step 0 of 37"},
		{"\x1b[F", "step 37 of 37"}, {"\x1b[H", "step 0 of 37"}, {"nnn\x1b[C", "step 4 of 37"}, {"\x1b[6~", "step 14 of 37"},
		{"21", "to step 21"}, {"\r", "step 21 of 37"}, {"f", "step 12 of 37(?s).*! r12 comes back changed"},
		{"/%r13", `/%r13`}, {"\r", "step 13 of 37"}, {"\r", "step 24 of 37"},
		{"/nowherx\x7fe\r", `no step has "nowhere" in it`}, {"/abc\x1b", "step 24 of 37(?s).*arrows"},
		{"?", `go?.*to the start`}, {"?", "stack of A at"}, {"m", "on stack of B(?s).*stack of A at"},
		{"v", "00007f3a5c033f80"},
	} {
		s.press(key.keys)
		s.see(key.see)
	}
	require.NotContains(
		t, regexp.MustCompile(`\x1b\[([HKJ]|\?[0-9]+[hl])`).ReplaceAllString(s.shown.String(), ""), "\x1b",
		"no colours",
	)
	s.press("q")
	require.NoError(t, <-s.done)
	s.see(`\x1b\[\?25h\x1b\[\?1049l$`)
}

func TestResize(t *testing.T) {
	s := begin(t, 80, 24)
	s.see(`arrows: .*q: quit  \x1b\[K`)
	resize(t, s.slave, 120, 40)
	require.NoError(t, unix.Kill(unix.Getpid(), unix.SIGWINCH))
	s.see(`arrows: .*q: quit {42}\x1b\[K`)
	s.press("\x03")
	require.NoError(t, <-s.done)
}

// The terminal is as before when the reader has left, and when the context is over.
func TestTheTerminalIsRestored(t *testing.T) {
	s := begin(t, 80, 24)
	state := func() unix.Termios {
		termios, err := unix.IoctlGetTermios(int(s.slave.Fd()), unix.TCGETS)
		require.NoError(t, err)
		return *termios
	}
	s.see("step 0 of 37")
	require.Zero(t, state().Lflag&unix.ICANON)
	s.cancel()
	require.NoError(t, <-s.done)
	require.NotZero(t, state().Lflag&unix.ICANON)
	s.see(`\x1b\[\?25h\x1b\[\?1049l$`)
}

func TestNoTerminal(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	defer w.Close()
	require.ErrorContains(t, Browse(t.Context(), at(t, sampleAMD64(t, false), 0), r, w), "cannot be read key by key")
	require.False(t, ScreenOf(w).Terminal)
	require.False(t, term.IsTerminal(int(w.Fd())))
}

func TestScreens(t *testing.T) {
	_, slave := openTerminal(t, 100, 30)
	for _, c := range []struct {
		name, value string
		want        Screen
	}{
		{"LANG", "C.UTF-8", Screen{Terminal: true, Columns: 100, Rows: 30, Colours: true}},
		{"NO_COLOR", "1", Screen{Terminal: true, Columns: 100, Rows: 30}},
		{"TERM", "dumb", Screen{Columns: 100, Rows: 30}},
		{"LC_ALL", "C", Screen{Terminal: true, Columns: 100, Rows: 30, Colours: true, ASCII: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, name := range []string{"LC_ALL", "LC_CTYPE", "NO_COLOR"} {
				t.Setenv(name, "")
			}
			t.Setenv("TERM", "xterm")
			t.Setenv("LANG", "de_DE.utf8")
			t.Setenv(c.name, c.value)
			require.Equal(t, c.want, ScreenOf(slave))
		})
	}
}

func TestKeysOf(t *testing.T) {
	require.Equal(
		t, []string{"a", "ü", "right", "end", "page up", "enter", "ctrl-c", "escape"},
		keysOf("aü\x1b[C\x1bOF\x1b[5~\r\x03\x01\x1b"),
	)
	require.Equal(t, []string{"x"}, keysOf("\x1b[1;5Cx"), "an unknown key is ignored")
	require.Empty(t, keysOf(""))
}
