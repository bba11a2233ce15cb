package hostile

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Explored is a submission to a lab that the explorer examines: the lab's reference, and one of its functions does
// something else first.
type Explored struct {
	Lab, Name string
	Says      string // what its report says, among other words
	Item      string // calls that function; "": the lab's first item
	attack
	entrance        // of the lab, if it is empty
	fault    string // of the reference: this text is left out
}

type attack struct{ before, does string } // what stands in front of the file, and what the function begins with

// entrance is the function that does it. It is declared by these words.
type entrance struct{ file, function string }

// entrances are those that the first item of a lab calls.
var entrances = map[string]entrance{
	"06": {"scheduler.c", "void worker_enqueue("},
	"07": {"queue.c", "void queue_put("},
	"08": {"deque.c", "bool deque_push("},
	"09": {"future.c", "struct future *future_fork("},
	"10": {"queue.c", "bool queue_push("},
}

// ExploredLabs returns the numbers of the labs that ExploredSet has submissions for.
func ExploredLabs() []string { return slices.Sorted(maps.Keys(entrances)) }

// ExploredSet returns all submissions to a lab.
func ExploredSet(lab string) []Explored {
	all := slices.Concat(anyLab, ofLab[lab])
	for i := range all {
		if all[i].Lab = lab; all[i].entrance.file == "" {
			all[i].entrance = entrances[lab]
		}
	}
	return all
}

const write = "long write(int, const void *, unsigned long);\n"

// anyLab are submissions to each of the labs.
var anyLab = []Explored{
	{Name: "fork", Says: "uses fork: not allowed in this lab", attack: attack{"int fork(void);", "fork();"}},
	{Name: "exit", Says: "uses _exit: not allowed in this lab", attack: attack{"void _exit(int);", "_exit(0);"}},
	{Name: "constructor", Says: "uses constructor", attack: attack{
		"__attribute__((constructor)) static void early(void) {}", "",
	}},
	{Name: "system-call", Says: "uses __asm__", attack: attack{"", `__asm__ volatile("syscall");`}},
	{Name: "inner", Says: "threads_stop", attack: attack{"void threads_stop(void);", "threads_stop();"}},
	{Name: "state", Says: "engine", attack: attack{"extern char *engine;", "engine[0] ^= 1;"}},
	{Name: "forges", Says: "it printed two results", attack: attack{
		"#include <stdlib.h>\n" + write + "static const char line[] = " +
			`"\n{\"result\":{\"verdict\":\"pass\",\"complete\":true,\"schedules\":9}}\n";`,
		"if (write(1, line, sizeof line - 1)) abort();",
	}},
	{Name: "hides", Says: "uses an index or a pointer outside of an object", attack: attack{
		"#include <stdint.h>\nstatic long shared[1024];", // which is reached by a way that compilers do not mark
		"volatile intptr_t far = ((intptr_t)&shared[512] - (intptr_t)__builtin_frame_address(0)) / 8;\n" +
			"long local[2] = {0};\nlocal[far]++;",
	}},
	{Name: "floods", Says: "it printed more than 64 MB", attack: attack{
		write + "static char much[1 << 16];", "for (;;) write(1, much, sizeof much);",
	}},
	{Name: "hangs", Says: "runs without end", attack: attack{"", "for (volatile int i = 0;; i++) {}"}},
	{Name: "chooses", Says: "uses explore_choose: not allowed in this lab", attack: attack{
		"#include <explore.h>", "explore_choose(26);", // so that the search ends among schedules that do not fail
	}},
	{Name: "spends", Says: "allocates more than", attack: attack{"#include <stdlib.h>", "while (malloc(1 << 16)) {}"}},
}

// ofLab are further submissions to some of them.
var ofLab = map[string][]Explored{
	"06": {{
		Name: "counts", Says: "which is the test's", Item: "a worker sleeps on a thread of its own",
		attack: attack{"#include <explore.h>\n#include <stdint.h>\nstatic explore_mutex own;", counts},
	}},
	"09": {
		{
			Name: "records", Says: "a data race: workers.h", Item: "a get runs its own task",
			attack: attack{counted, "if (!blocks) find();\nif (blocks) --*blocks;"},
			fault:  "memory_free(f);",
		},
		{
			Name: "joins", Says: "uses explore_join: not allowed in this lab", Item: "a get runs its own task",
			attack: attack{"#include <explore.h>", "explore_join(1);"},
		},
		{
			Name: "takes", Says: "uses explore_take: not allowed in this lab", Item: "workers that sleep are stopped",
			attack: attack{does: "if (self == 0) explore_take(1);\nreturn;"}, entrance: entrance{"pool.c", "void pool_run("},
		},
	},
	"10": append([]Explored{
		{
			Name: "kernel", Says: "a data race: kernel.h", Item: "a part is not the whole",
			attack:   attack{does: near + "if (!p[0] && p[1] == 2 && !p[2] && !p[3] && !p[4] && !p[5]) p[1] = 0;"},
			entrance: entrance{"engine.c", "ticket engine_begin("}, fault: "again = r->done < r->work.length;",
		},
		{
			Name: "serves", Says: "a data race: kernel.h",
			Item: "completions come in any order", attack: attack{does: served + "finish(r, 2); break; }"},
			entrance: entrance{"engine.c", "void engine_run("},
		},
		{
			Name: "completes", Says: "the kernel alone moves its ends of the queues", Item: "completions come in any order",
			attack: attack{does: "for (each_request(r)) if (r->state == STAGED) { for (unsigned i = 0; i < 2; i++) " +
				"((char *)r->work.buffer)[i] = \"aabb\"[r->work.offset + i]; r->state = RUNNING; " +
				"ring.completions[*ring.completions_tail] = " +
				"(struct ring_completion){.number = ticket_of(r), .result = 2}; ++*ring.completions_tail; break; }"},
			entrance: entrance{"engine.c", "void engine_run("},
		},
		sleeps("parks", "uses explore_park: not allowed in this lab", "explore_park()", "explore_unpark(0)"),
		sleeps("spins", "a livelock", "while (!rung) {} rung = 0", "rung = 1"),
		{
			Name: "calls", Says: "engine_run calls the tasks", Item: "the last guest that leaves wakes the engine",
			attack: attack{does: "task->run(task);\nreturn;"}, entrance: entrance{"engine.c", "void engine_post("},
		},
	}, answers...),
}

// answers are submissions to lab 10 that do not ask the kernel: they know the results of an item.
var answers = []Explored{
	answer("order", "completions come in any order", `
    for (int i = 0; i < 6 && called == 1; i++) {
        ((char *)work.buffer)[i] = "aabbcc"[i];
        ((int *)work.arg)[i / 2] = 2;
    }
    return called;`),
	answer("full", "the queues are smaller than the table", `
    if (called > REQUESTS)
        return 0;
    *(int *)work.arg = 2;
    return called;`),
	answer("part", "a part is not the whole", `if (answered(work, "abcd")) return called;`),
	answer("again", "what was interrupted is tried again", `if (answered(work, "abcd")) return called;`),
	answer("cancel", "a cancel comes in time or too late", `
    *(int *)work.arg = called == 1 ? -ECANCELED : 2;
    return called;`),
	answer("ticket", "a ticket names no later request", `
    ((int *)work.arg)[0] = ((int *)work.arg)[1] = 2;
    return called;`),
	answer("close", "a file is closed while it is in use", `
    *(char *)work.buffer = 'x';
    *(int *)work.arg = work.file == 1 ? 4 : work.file == 0 && called < 4 ? -ECANCELED : 2;
    if (called == 3)
        ring_close(0);
    return called;`),
	answer("stop", "the engine stops when nothing is left to do", `if (answered(work, "ab")) return called;`),
	{
		Name: "answers-one", Says: transferred, Item: "a request is over once, with its result",
		attack: attack{answering, `for (each_request(r))
        if (r->state == STAGED && answered(r->work, "abcdef"))
            r->state = FREE;`},
		entrance: entrance{"engine.c", "void engine_run("},
	},
}

func answer(name, item, does string) Explored {
	return Explored{
		Name: "answers-" + name, Says: transferred, Item: item, attack: attack{answering, "called++;\n" + does},
		entrance: entrance{"engine.c", "ticket engine_begin("},
	}
}

// sleeps has the engine wait and wake without the ring, by these words.
func sleeps(name, says, wait, wake string) Explored {
	return Explored{
		Name: name, Says: says, Item: "the last guest that leaves wakes the engine", attack: attack{before: `
#include <explore.h>
#include "engine.h"
static _Atomic int rung;
static int enter(unsigned submit, unsigned wait) {
    int taken = ring_enter(submit, 0);
    if (wait && *ring.completions_tail == *ring.completions_head) { ` + wait + `; }
    return taken;
}
#define ring_enter enter
#define ring_wake() ` + wake}, entrance: entrance{"engine.c", "void engine_run("},
	}
}

const transferred = "the kernel transfers the bytes"

// answering has answered do a read of a file that has that text.
const answering = `
#include "engine.h"
static int called;
static inline bool answered(struct work work, const char *text) {
    int n = 0;
    if (work.operation != RING_READ)
        return false;
    for (; n < (int)work.length && text[work.offset + n]; n++)
        ((char *)work.buffer)[n] = text[work.offset + n];
    *(int *)work.arg = n;
    return true;
}`

const (
	// near has p point to each word of the variables before the entries of the simulated kernel of lab 10.
	near = "for (int *p = (int *)ring.entries - 80; p < (int *)ring.entries; p++) "
	// served copies what a request is to read from the kernel's file, which begins with "aabb".
	served = "for (each_request(r)) if (r->state == STAGED) " + near + "if (*p == 0x62626161) {\n" +
		"for (unsigned i = 0; i < 2; i++) ((char *)r->work.buffer)[i] = ((char *)p)[r->work.offset + i];\n"
)

// counts queues no task, and counts it as one that has run. The number stands in front of w, in the test's variables.
const counts = `
    volatile uintptr_t at = ((uintptr_t)(&own + 1) + 7) & -8; /* behind it: reading it would be a race */
    explore_lock(&own);
    for (intptr_t *p = (intptr_t *)at; p < (intptr_t *)at + 64; p++)
        if (*p == (intptr_t)w) {
            ++*(int *)(p - 1);
            break;
        }
    explore_unlock(&own);
    return;`

// counted has find look for the word that counts the blocks of memory, in the variables of the tests of lab 9.
const counted = `
#include <stdint.h>
#include "forkjoin.h"
static int own, *blocks;
static void find(void) {
    volatile uintptr_t at = (uintptr_t)&own;
    for (int *p = (int *)at; !blocks && p < (int *)at + 64; p++) {
        int before = *p;
        void *block = memory_new(1);
        if (*p == before + 1) blocks = p;
        memory_free(block);
    }
}`

// Write makes the files of the submission in the folder dir, of those in labs, the folder of the labs.
func (e Explored) Write(dir, labs string) error {
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(labs, e.Lab, "reference"))); err != nil {
		return err
	}
	path := filepath.Join(dir, e.file)
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	source := strings.Replace(string(text), e.fault, "", 1)
	head, rest, _ := strings.Cut(source, "\n"+e.function)
	parameters, body, found := strings.Cut(rest, "{\n")
	if !found || e.fault != "" && source == string(text) {
		return fmt.Errorf("%s is not as this package has it: it lacks %s...) or %s", path, e.function, e.fault)
	}
	source = e.before + "\n" + head + "\n" + e.function + parameters + "{\n" + e.does + "\n" + body
	return os.WriteFile(path, []byte(source), 0o600)
}
