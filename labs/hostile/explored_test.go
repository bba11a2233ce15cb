package hostile_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/labs/check/explored"
	"fiberlab/labs/grade"
	"fiberlab/labs/machine"
)

// Where a submission to a lab does what it does before anything else: a function that the lab's first item calls.
var explorerPlaces = []struct{ lab, file, function string }{
	{"08", "deque.c", "deque_push("}, {"06", "scheduler.c", "worker_enqueue("}, {"07", "queue.c", "queue_put("},
}

// What it does there. ours stands in front of the file.
var explorerKin = []struct{ name, ours, does, said string }{
	{"fork", "int fork(void);", "fork();", "uses fork: not allowed in this lab"},
	{"exit", "void _exit(int);", "_exit(0);", "uses _exit: not allowed in this lab"},
	{"constructor", "__attribute__((constructor)) static void first(void) {}", "", "uses constructor"},
	{"system-call", "", `__asm__ volatile("syscall");`, "uses __asm__"},
	{"inner", "void threads_stop(void);", "threads_stop();", "threads_stop"},
	{"state", "extern char *engine;", "engine[0] ^= 1;", "engine"},
	{
		"forges", "#include <stdlib.h>\nlong write(int, const void *, unsigned long);\nstatic const char line[] = " +
			`"\n{\"result\":{\"verdict\":\"pass\",\"complete\":true,\"schedules\":9}}\n";`,
		"if (write(1, line, sizeof line - 1)) abort();", "it printed two results",
	},
	{
		"floods", "long write(int, const void *, unsigned long);\nstatic char much[1 << 16];",
		"for (;;) write(1, much, sizeof much);", "it printed more than 64 MB",
	},
	{"hangs", "", "for (volatile int i = 0;; i++) {}", "runs without end"},
	{"spends", "#include <stdlib.h>", "while (malloc(1 << 16)) {}", "allocates more than"},
}

// None of them gets a point, and each is told why. All are tried with lab 8, and a part with the others and, if
// FIBERLAB_SELFTEST is set, for both architectures.
func TestExplorerKin(t *testing.T) {
	if len(strings.Fields(os.Getenv("FIBERLAB_EXEC"))) > 0 {
		t.Skip("they are graded on the machine's own architecture")
	}
	part := 0
	for _, a := range []*machine.Arch{machine.AMD64, machine.ARM64} {
		if a != machine.Native() && os.Getenv("FIBERLAB_SELFTEST") == "" {
			continue
		}
		for i, p := range explorerPlaces {
			part++
			for j, c := range explorerKin {
				whole := i == 0 && a == machine.Native()
				if !whole && j%5 != part%5 || testing.Short() && j%3 != part%3 {
					continue
				}
				t.Run(filepath.Join(p.lab, c.name, a.Name), func(t *testing.T) {
					t.Parallel()
					said := saidOfKin(t, a, p.lab, p.file, p.function, c.ours, c.does)
					require.Contains(t, said, c.said)
				})
			}
		}
	}
}

// saidOfKin grades the reference of a lab by its first item, with such changes in a file, and returns what is said.
func saidOfKin(t *testing.T, a *machine.Arch, number, file, function, ours, does string) string {
	t.Helper()
	labs := explored.Labs()
	lab := *labs[slices.IndexFunc(labs, func(l *grade.Lab) bool { return l.Number == number })]
	lab.Items = lab.Items[:1]
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join("..", number, "reference"))))
	text, err := os.ReadFile(filepath.Join(dir, file))
	require.NoError(t, err)
	source := string(text)
	at := strings.Index(source, "\nvoid "+function)
	if at < 0 {
		at = strings.Index(source, "\nbool "+function)
	}
	require.Positive(t, at)
	begin := at + strings.Index(source[at:], "{\n") + 2
	source = ours + "\n" + source[:begin] + does + "\n" + source[begin:]
	require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte(source), 0o600))
	r, err := lab.Grade(t.Context(), grade.Options{Arch: a, Dir: dir, Seed: 1})
	if errors.Is(err, machine.ErrNoPtrace) || errors.Is(err, machine.ErrNoEmulator) {
		t.Skip(err)
	}
	require.NoError(t, err)
	require.Zero(t, r.Points)
	return said(r)
}
