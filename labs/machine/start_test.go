package machine

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Where ptrace is refused, the error says so and what to do, and Start uses the emulator of the same architecture. The
// test runs itself under a filter that refuses ptrace.
func TestNoPtrace(t *testing.T) {
	const inside, remedy = "FIBERLAB_TEST_NO_PTRACE", "FIBERLAB_TEST_REMEDY"
	if os.Getenv(inside) != "" {
		p, err := Open(os.Getenv(inside))
		require.NoError(t, err)
		// It is known without a child: in an emulator a child that is refused may not end.
		_, err = startTraced(t.Context(), p, Options{Wrap: func([]string) []string { panic("there is to be a child") }})
		require.ErrorIs(t, err, ErrNoPtrace)
		require.ErrorContains(t, err, os.Getenv(remedy))
		require.NotContains(t, err.Error(), "\n")

		if _, missing := FindEmulator(Native()); missing == nil {
			m, err := Start(t.Context(), p, Options{})
			require.NoError(t, err)
			require.IsType(t, &emulated{}, m)
			require.NoError(t, m.Close())
		}
		t.Setenv("PATH", t.TempDir())
		_, err = Start(t.Context(), p, Options{})
		require.ErrorIs(t, err, ErrNoPtrace)
		require.ErrorIs(t, err, ErrNoEmulator)
		require.NotContains(t, err.Error(), "\n")
		return
	}
	for _, c := range []struct{ filter, remedy string }{
		{"wrap-refuse-ptrace", "--cap-add=SYS_PTRACE"},
		{"wrap-no-ptrace", "install qemu-user"},
	} {
		t.Run(c.filter, func(t *testing.T) {
			self := append(emulator(), executable(t), "-test.v", "-test.run=^TestNoPtrace$")
			if len(emulator()) == 0 {
				self = wrapped(c.filter)(self)
			} else { // qemu has no filters, and no ptrace either
				c.remedy = "install qemu-user"
			}
			command := exec.Command(self[0], self[1:]...)
			command.Env = append(os.Environ(), inside+"="+probe(t, Native()).Path, remedy+"="+c.remedy)
			out, err := command.CombinedOutput()
			require.NoError(t, err, string(out))
			require.Contains(t, string(out), "--- PASS: TestNoPtrace")
		})
	}
}

// emulator is the command that runs programs of this test's architecture, if it is a foreign one.
func emulator() []string { return strings.Fields(os.Getenv("FIBERLAB_EXEC")) }

func executable(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	return self
}

func TestNoEmulator(t *testing.T) {
	ways(t, func(t *testing.T, w way) {
		if w.ptrace {
			return
		}
		p := probe(t, w.arch)
		t.Setenv("PATH", t.TempDir())
		_, err := w.start(t.Context(), p, Options{})
		require.ErrorIs(t, err, ErrNoEmulator)
		require.ErrorContains(t, err, "qemu-user")
		_, err = w.start(t.Context(), p, Options{Emulator: []string{"qemu-none"}})
		require.ErrorIs(t, err, ErrNoEmulator)
		require.ErrorContains(t, err, "qemu-none")
	})
}

// An emulator that ends at once, or never answers, is an error that names it, in time.
func TestBrokenEmulator(t *testing.T) {
	p := probe(t, Native())
	script := filepath.Join(t.TempDir(), "qemu-broken")
	for _, c := range []struct {
		does, says string
		timeout    time.Duration
	}{
		{"echo cannot begin >&2; exit 3", "cannot begin", StartTimeout},
		{"exec sleep 1000", "no stub answers", time.Second},
		{"kill -9 $$", "killed", StartTimeout},
	} {
		require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\n"+c.does+"\n"), 0o755))
		ctx, cancel := context.WithTimeout(t.Context(), c.timeout)
		_, err := Start(ctx, p, Options{Emulator: []string{script}, Env: os.Environ()})
		cancel()
		require.ErrorContains(t, err, "qemu-broken")
		require.ErrorContains(t, err, c.says)
	}
}

// A start that is given up leaves nothing behind.
func TestStartIsCancelled(t *testing.T) {
	ways(t, func(t *testing.T, w way) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		_, err := w.start(ctx, probe(t, w.arch), Options{Wrap: func([]string) []string {
			time.AfterFunc(50*time.Millisecond, cancel)
			return []string{"sleep", "1000"}
		}})
		require.ErrorIs(t, err, context.Canceled) // and not what the end of StartTimeout is
	})
}

// A start that is given up while a wrapper has threads, all of which the tracer holds, ends too.
func TestStartWithThreadsIsCancelled(t *testing.T) {
	ways(t, func(t *testing.T, w way) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		said := &limited{want: len("they are there"), full: cancel}
		_, err := w.start(ctx, probe(t, w.arch), Options{Wrap: wrapped("wrap-threads-wait"), Output: said})
		require.ErrorIs(t, err, context.Canceled)
	})
}

// A wrapper may execute the program while its threads start others: no thread is overlooked.
func TestStartWhileThreadsStart(t *testing.T) {
	needPtrace(t)
	for i := range 20 {
		m, err := startTraced(t.Context(), probe(t, Native()), Options{Wrap: wrapped("wrap-threads-start")})
		require.NoError(t, err, i)
		require.NoError(t, m.Close())
	}
}

func TestOpen(t *testing.T) {
	p := probe(t, Native())
	_, err := Open(filepath.Join(scratch, "missing"))
	require.ErrorContains(t, err, "missing")
	_, err = Open("start_test.go")
	require.ErrorContains(t, err, "no executable")
	_, err = p.Symbol("nowhere")
	require.ErrorContains(t, err, "nowhere")

	add, err := p.Symbol("add")
	require.NoError(t, err)
	require.NotZero(t, add.Size)
	for _, inside := range []uint64{0, add.Size - 1} {
		at, ok := p.At(add.Address + inside)
		require.True(t, ok)
		require.Equal(t, add, at)
	}
	_, ok := p.At(0)
	require.False(t, ok)
	for _, nowhere := range []uint64{0, 1 << 47} {
		_, known := p.Place(nowhere)
		require.False(t, known)
	}

	pie := filepath.Join(scratch, "pie")
	out, err := exec.Command("cp", p.Path, pie).CombinedOutput()
	require.NoError(t, err, string(out))
	text, err := os.ReadFile(pie)
	require.NoError(t, err)
	text[16] = 3 // e_type: ET_DYN
	require.NoError(t, os.WriteFile(pie, text, 0o755))
	_, err = Open(pie)
	require.ErrorContains(t, err, "-no-pie")
}

// What a compiler gives line 0, since it belongs to several lines or to none, counts to the line before.
func TestLineZero(t *testing.T) {
	path := filepath.Join(scratch, "lines")
	build(t, Native(), path, "-g0", "-nostdlib", "testdata/lines.S")
	p, err := Open(path)
	require.NoError(t, err)
	start, err := p.Symbol("_start")
	require.NoError(t, err)
	for offset, line := range map[uint64]int{0: 7, 3: 7, 4: 7, 7: 7, 8: 9, 11: 9} {
		place, known := p.Place(start.Address + offset)
		require.True(t, known)
		require.Equal(t, Place{"written.c", line, "_start"}, place)
	}
	_, known := p.Place(start.Address + 12)
	require.False(t, known)
}

// Many programs, one after the other, ended in different ways, leave no process, descriptor or thread behind.
func TestManyStarts(t *testing.T) {
	ways(t, func(t *testing.T, w way) {
		rounds := 500
		if !w.ptrace {
			rounds = 20
		}
		p := probe(t, w.arch)
		round := func(i int) {
			b := &bench{t, nil, p, w}
			var err error
			b.Machine, err = w.start(t.Context(), p, Options{})
			require.NoError(t, err)
			switch i % 3 {
			case 1:
				b.jump("leave")
				require.Equal(t, Exited, b.run().Kind)
			case 2:
				ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
				stop, err := b.Run(ctx)
				cancel()
				require.ErrorIs(t, err, context.DeadlineExceeded, stop)
			}
			require.NoError(t, b.Close())
		}
		round(0)
		descriptors, children, threads := count(t, "fd"), descendants(t), count(t, "task")
		for i := range rounds {
			round(i)
		}
		require.LessOrEqual(t, count(t, "fd"), descriptors)
		require.Equal(t, children, descendants(t))
		require.LessOrEqual(t, count(t, "task"), threads+10) // Go's own threads come and go
	})
}

// count counts the entries of a folder of /proc/self.
func count(t *testing.T, folder string) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/" + folder)
	require.NoError(t, err)
	return len(entries)
}

// descendants are the children of this process, also children that have ended and have not been waited for.
func descendants(t *testing.T) []string {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	require.NoError(t, err)
	children := []string{}
	for _, stat := range stats {
		text, _ := os.ReadFile(stat)
		_, after, _ := strings.Cut(string(text), ") ")
		if fields := strings.Fields(after); len(fields) > 1 && fields[1] == strconv.Itoa(os.Getpid()) {
			children = append(children, string(text))
		}
	}
	return children
}
