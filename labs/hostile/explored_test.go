package hostile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/labs/check/explored"
	"fiberlab/labs/grade"
	"fiberlab/labs/machine"
)

// What a submission to lab 8 does in deque_push before anything else. ours stands in front of the file.
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

// None of them gets a point, and each is told why.
func TestExplorerKin(t *testing.T) {
	labs := explored.Labs()
	lab := *labs[len(labs)-1]
	lab.Items = lab.Items[:1]
	if len(strings.Fields(os.Getenv("FIBERLAB_EXEC"))) > 0 {
		t.Skip("they are graded on the machine's own architecture")
	}
	for i, c := range explorerKin {
		if testing.Short() && i%3 > 0 { // each builds the runtime
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for _, name := range []string{"deque.c", "pool.c"} {
				text, err := os.ReadFile(filepath.Join("..", lab.Number, "reference", name))
				require.NoError(t, err)
				source := string(text)
				if name == "deque.c" {
					at := strings.Index(source, "deque_push(")
					require.Positive(t, at)
					begin := at + strings.Index(source[at:], "{\n") + 2
					source = c.ours + "\n" + source[:begin] + c.does + "\n" + source[begin:]
				}
				require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(source), 0o600))
			}
			r, err := lab.Grade(t.Context(), grade.Options{Arch: machine.Native(), Dir: dir, Seed: 1})
			require.NoError(t, err)
			require.Zero(t, r.Points)
			said := ""
			if r.Build != nil {
				said = strings.Join(r.Build.Said, "\n")
			}
			for _, item := range r.Items {
				for _, fault := range item.Faults {
					said += "\n" + fault.Text
				}
			}
			require.Contains(t, said, c.said)
		})
	}
}
