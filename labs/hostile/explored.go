package hostile

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Explored is a submission to a lab that the explorer examines: the lab's reference, and one of its functions does
// something else first. It is one that the lab's first item calls.
type Explored struct {
	Lab, Name string
	Says      string // what its report says, among other words
	attack
}

type attack struct{ before, does string } // what stands in front of the file, and what the function begins with

// entrances are the functions that do it, by the lab.
var entrances = map[string]struct{ file, function string }{
	"06": {"scheduler.c", "worker_enqueue("},
	"07": {"queue.c", "queue_put("},
	"08": {"deque.c", "deque_push("},
}

// ExploredLabs returns the numbers of the labs that ExploredSet has submissions for.
func ExploredLabs() []string { return []string{"06", "07", "08"} }

// ExploredSet returns all submissions to a lab.
func ExploredSet(lab string) []Explored {
	write := "long write(int, const void *, unsigned long);\n"
	return []Explored{
		{lab, "fork", "uses fork: not allowed in this lab", attack{"int fork(void);", "fork();"}},
		{lab, "exit", "uses _exit: not allowed in this lab", attack{"void _exit(int);", "_exit(0);"}},
		{lab, "constructor", "uses constructor", attack{"__attribute__((constructor)) static void early(void) {}", ""}},
		{lab, "system-call", "uses __asm__", attack{"", `__asm__ volatile("syscall");`}},
		{lab, "inner", "threads_stop", attack{"void threads_stop(void);", "threads_stop();"}},
		{lab, "state", "engine", attack{"extern char *engine;", "engine[0] ^= 1;"}},
		{lab, "forges", "it printed two results", attack{
			"#include <stdlib.h>\n" + write + "static const char line[] = " +
				`"\n{\"result\":{\"verdict\":\"pass\",\"complete\":true,\"schedules\":9}}\n";`,
			"if (write(1, line, sizeof line - 1)) abort();",
		}},
		{lab, "hides", "uses an index or a pointer outside of an object", attack{
			"#include <stdint.h>\nstatic long shared[1024];", // which is reached by a way that compilers do not mark
			"volatile intptr_t far = ((intptr_t)&shared[512] - (intptr_t)__builtin_frame_address(0)) / 8;\n" +
				"long local[2] = {0};\nlocal[far]++;",
		}},
		{lab, "floods", "it printed more than 64 MB", attack{
			write + "static char much[1 << 16];", "for (;;) write(1, much, sizeof much);",
		}},
		{lab, "hangs", "runs without end", attack{"", "for (volatile int i = 0;; i++) {}"}},
		{lab, "spends", "allocates more than", attack{"#include <stdlib.h>", "while (malloc(1 << 16)) {}"}},
	}
}

// Write makes the files of the submission in the folder dir, of those in labs, the folder of the labs.
func (e Explored) Write(dir, labs string) error {
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(labs, e.Lab, "reference"))); err != nil {
		return err
	}
	entrance := entrances[e.Lab]
	path := filepath.Join(dir, entrance.file)
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	for _, returns := range []string{"void ", "bool "} {
		head, rest, _ := strings.Cut(string(text), "\n"+returns+entrance.function)
		if parameters, body, found := strings.Cut(rest, "{\n"); found {
			source := e.before + "\n" + head + "\n" + returns + entrance.function + parameters + "{\n" + e.does + "\n" + body
			return os.WriteFile(path, []byte(source), 0o600)
		}
	}
	return fmt.Errorf("%s defines no function %s...)", path, entrance.function)
}
