package explore_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fiberlab/labs/explore"
)

// built builds a program of one file, with that source.
func built(t *testing.T, source string) *explore.Program {
	t.Helper()
	file := filepath.Join(t.TempDir(), "program.c")
	require.NoError(t, os.WriteFile(file, []byte(source), 0o600))
	p, warnings, err := toolsOf(t, "").Build(t.Context(), []string{file}, explore.BuildOptions{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	require.Empty(t, warnings)
	return p
}

// textOf returns what a result says, with single blanks.
func textOf(t *testing.T, r *explore.Result) string {
	t.Helper()
	var text strings.Builder
	require.NoError(t, r.Write(&text, 0))
	return strings.Join(strings.Fields(text.String()), " ")
}

// Thread 0 and a thread that it has started both start threads, in any order.
func TestStartsCompete(t *testing.T) {
	t.Parallel()
	p := built(t, `
#include <explore.h>
#include <stdatomic.h>
static atomic_int first;
static void leaf(void *name) {
    int none = 0;
    atomic_compare_exchange_strong(&first, &none, *(int *)name);
}
static int one = 1, two = 2;
static void starter(void *unused) { (void)unused; explore_join(explore_start(leaf, &one)); }
void explore_test(void) {
    int a = explore_start(starter, 0), b = explore_start(leaf, &two);
    explore_join(a);
    explore_join(b);
    explore_outcome((unsigned)b * 10 + (unsigned)first);
}`)
	for _, all := range []bool{false, true} {
		r, err := p.Run(t.Context(), explore.Options{All: all})
		require.NoError(t, err)
		require.Nil(t, r.Fault)
		require.True(t, r.Complete)
		require.Equal(t, []uint32{21, 22, 31, 32}, r.Outcomes)
	}
}

// What a thread finds behind explore_yield depends on what others did before the call, and while it waited. The search
// that leaves out equivalent schedules leaves out none of that.
func TestYieldsCompete(t *testing.T) {
	t.Parallel()
	for other, outcomes := range map[string][]uint32{
		"explore_yield(); read(&y); read(&z);":                         {0, 1, 10, 11},
		"atomic_load(&x); explore_yield(); read(&y); read(&z);":        {0, 1, 10, 11},
		"atomic_load(&y); atomic_load(&x); explore_yield(); read(&y);": {0, 1},
	} {
		p := built(t, `
#include <explore.h>
#include <stdatomic.h>
atomic_int x, y, z;
static unsigned outcome;
__attribute__((unused)) static void read(atomic_int *object) {
    outcome = outcome * 10 + (unsigned)atomic_load_explicit(object, memory_order_relaxed);
}
static void other(void *unused) { (void)unused;
    `+other+`
    explore_outcome(outcome);
}
void explore_test(void) {
    int t = explore_start(other, 0);
    atomic_store_explicit(&y, 1, memory_order_relaxed);
    atomic_store_explicit(&z, 1, memory_order_relaxed);
    explore_join(t);
}`)
		for _, o := range []explore.Options{{Preemptions: 100}, {All: true}} {
			r, err := p.Run(t.Context(), o)
			require.NoError(t, err)
			require.Nil(t, r.Fault)
			require.True(t, r.Complete)
			require.Equal(t, outcomes, r.Outcomes, other)
		}
	}
}

// A program chooses by itself, between steps and before the first one of a thread.
func TestChoices(t *testing.T) {
	t.Parallel()
	p := built(t, `
#include <explore.h>
#include <stdatomic.h>
static atomic_uint sum;
static void other(void *unused) {
    (void)unused;
    atomic_fetch_add(&sum, explore_choose(2) * 10);
}
void explore_test(void) {
    unsigned mine = explore_choose(3);
    int t = explore_start(other, 0);
    atomic_fetch_add(&sum, mine);
    mine = explore_choose(2) * 100 + explore_choose(1);
    explore_join(t);
    explore_outcome(sum + mine);
    explore_check(sum + mine != 112, "it is not 112");
}`)
	all := []uint32{0, 1, 2, 10, 11, 12, 100, 101, 102, 110, 111} // 112 fails
	r, err := p.Run(t.Context(), explore.Options{All: true})
	require.NoError(t, err)
	require.True(t, r.Complete)
	require.Equal(t, all, r.Outcomes)
	r, err = p.Run(t.Context(), explore.Options{})
	require.NoError(t, err)
	require.NotNil(t, r.Fault)
	require.Contains(t, textOf(t, r), "chooses 2")
	again, err := p.Run(t.Context(), explore.Options{Replay: r.Schedule})
	require.NoError(t, err)
	require.Equal(t, r.Steps, again.Steps)
}

// A store that may go to more places in modification order than are tried leaves the search incomplete.
func TestManyPlacesOfStore(t *testing.T) {
	t.Parallel()
	r, err := built(t, `
#include <explore.h>
#include <stdatomic.h>
static atomic_int x, done;
static void writer(void *unused) {
    (void)unused;
    for (int i = 1; i <= 300; i++)
        atomic_store_explicit(&x, i, memory_order_relaxed);
    atomic_store_explicit(&done, 1, memory_order_relaxed);
}
void explore_test(void) {
    int t = explore_start(writer, 0);
    if (atomic_load_explicit(&done, memory_order_relaxed))
        atomic_store_explicit(&x, -1, memory_order_relaxed);
    explore_join(t);
}`).Run(t.Context(), explore.Options{Schedules: 5000})
	require.NoError(t, err)
	require.Nil(t, r.Fault)
	require.False(t, r.Complete)
}

// What a program prints does not hide the result, and does not end in it.
func TestProgramPrints(t *testing.T) {
	t.Parallel()
	r, err := built(t, `
#include <explore.h>
#include <stdio.h>
void explore_test(void) { printf("half a line"); }`).Run(t.Context(), explore.Options{})
	require.NoError(t, err)
	require.True(t, r.Complete)
}

// failsByOnePreemption is a program that fails if the thread that it starts runs before the check.
const failsByOnePreemption = `
#include <explore.h>
#include <stdatomic.h>
static atomic_int x;
static void other(void *unused) { (void)unused; x = 1; }
void explore_test(void) {
    int t = explore_start(other, 0);
    explore_check(x == 0, "it is 0");
    explore_join(t);
}`

// A schedule that decides more than the program does, or chooses what there is not, is of another program.
func TestForeignSchedule(t *testing.T) {
	t.Parallel()
	p := built(t, failsByOnePreemption)
	for schedule, right := range map[string]bool{
		"1": true, "a": true, "11": false, "1a": false, "5": false, "aaaa": false,
	} {
		r, err := p.Run(t.Context(), explore.Options{Replay: schedule})
		if !right {
			require.ErrorIs(t, err, explore.ErrSchedule, schedule)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, schedule == "1", r.Fault != nil)
	}
}

// A program that always fails has no point of no return, nor has a schedule that is replayed.
func TestEveryScheduleFails(t *testing.T) {
	t.Parallel()
	p := built(t, `
#include <explore.h>
#include <stdatomic.h>
static atomic_int x;
static void other(void *unused) { (void)unused; x = 1; }
void explore_test(void) {
    int t = explore_start(other, 0);
    x = 2;
    explore_join(t);
    explore_check(x == 3, "it is 3");
}`)
	r, err := p.Run(t.Context(), explore.Options{})
	require.NoError(t, err)
	require.Contains(t, textOf(t, r), "Every schedule fails.")
	r, err = p.Run(t.Context(), explore.Options{Replay: r.Schedule})
	require.NoError(t, err)
	require.Nil(t, r.NoReturn)
	require.NotContains(t, textOf(t, r), "very schedule fails")
}

// A constructor may access memory, and not allocate it.
func TestConstructors(t *testing.T) {
	t.Parallel()
	with := func(does string) *explore.Program {
		return built(t, `
#include <explore.h>
#include <stdatomic.h>
#include <stdlib.h>
static atomic_int x;
int *p;
__attribute__((constructor)) static void before(void) { x++; `+does+` }
void explore_test(void) { explore_check(x == 1, "the constructor ran once"); }`)
	}
	r, err := with("").Run(t.Context(), explore.Options{})
	require.NoError(t, err)
	require.Nil(t, r.Fault)
	_, err = with("p = malloc(4);").Run(t.Context(), explore.Options{})
	require.ErrorContains(t, err, "a constructor calls malloc: let explore_test do that")
}

// A mutex is memory as other objects are: it is not freed, nor written, while nothing orders that with its users.
func TestMutexMemory(t *testing.T) {
	t.Parallel()
	for does, kinds := range map[string][]string{
		"free(m);":                                   {"use-after-free"}, // after the other thread has got to its lock
		"x = 1; free(m);":                            {"use-after-free", "race"},
		"x = 1; *m = (explore_mutex){0};":            {"race"},
		"explore_lock(m); x = 1; explore_unlock(m);": nil,
	} {
		p := built(t, `
#include <explore.h>
#include <stdatomic.h>
#include <stdlib.h>
atomic_int x;
static void other(void *m) { explore_lock(m); explore_unlock(m); }
void explore_test(void) {
    explore_mutex *m = calloc(1, sizeof *m);
    int t = explore_start(other, m);
    `+does+`
    explore_join(t);
}`)
		for _, all := range []bool{false, true} {
			r, err := p.Run(t.Context(), explore.Options{All: all})
			require.NoError(t, err)
			require.Equal(t, kinds != nil, r.Fault != nil, does)
			if kinds != nil {
				require.Contains(t, kinds, r.Fault.Kind, does)
			}
		}
	}
}

// realloc takes what malloc has returned, also of no bytes, and nothing else.
func TestRealloc(t *testing.T) {
	t.Parallel()
	for from, says := range map[string]string{
		"malloc(0)": "", "malloc(4)": "", "NULL": "", "other": "frees what malloc did not return",
		"(char *)malloc(4) + 1": "frees what malloc did not return",
	} {
		r, err := built(t, `
#include <explore.h>
#include <stdlib.h>
char other[4];
void explore_test(void) {
    void *volatile p = `+from+`;
    char *larger = realloc(p, 8);
    larger[7] = 1;
    free(larger);
}`).Run(t.Context(), explore.Options{})
		require.NoError(t, err)
		require.Equal(t, says != "", r.Fault != nil, from)
		if says != "" {
			require.Contains(t, r.Fault.Text, says, from)
		}
	}
}

// Thread-local variables are shared, and each schedule finds their first values.
func TestThreadLocal(t *testing.T) {
	t.Parallel()
	r, err := built(t, `
#include <explore.h>
#include <stdatomic.h>
static _Thread_local int starts = 1;
static atomic_int x;
static void other(void *unused) { (void)unused; starts++; x = 1; }
void explore_test(void) {
    int t = explore_start(other, 0);
    x = 2;
    explore_join(t);
    explore_check(starts == 2, "it has started once");
}`).Run(t.Context(), explore.Options{})
	require.NoError(t, err)
	require.Nil(t, r.Fault)
	require.Greater(t, r.Schedules, 1)
}

// A write outside of a block is shown as a write.
func TestWriteOutside(t *testing.T) {
	t.Parallel()
	r, err := built(t, `
#include <explore.h>
#include <stdlib.h>
int *volatile p; // of a block whose size the compiler does not know
void explore_test(void) { p = malloc(8); p[2] = 7; }`).Run(t.Context(), explore.Options{})
	require.NoError(t, err)
	require.NotNil(t, r.Fault)
	require.Equal(t, "crash", r.Fault.Kind)
	require.Equal(t, "write", r.Steps[r.Fault.B].Op)
	require.Contains(t, r.Fault.Text, "Thread 0 writes memory that is neither a variable nor a block")
}

// A program whose schedules depend on something else has no result.
func TestNotRepeatable(t *testing.T) {
	t.Parallel()
	_, err := built(t, `
#define _GNU_SOURCE
#include <explore.h>
#include <stdlib.h>
void explore_test(void) {
    bool again = getenv("EXPLORED") != NULL;
    setenv("EXPLORED", "1", 1);
    explore_check(again, "it runs again");
}`).Run(t.Context(), explore.Options{})
	require.ErrorContains(t, err, "does not fail again: the program depends on more than the schedule, such as a local "+
		"variable without a first value, the time or rand")
}

// What a program prints like a result is none if the program does not end as its runtime ends it.
func TestForgedResult(t *testing.T) {
	t.Parallel()
	_, err := built(t, `
#include <explore.h>
#include <signal.h>
#include <unistd.h>
void explore_test(void) {
    static const char line[] = "\n{\"result\":{\"verdict\":\"pass\",\"complete\":true}}\n";
    explore_check(write(1, line, sizeof line - 1) > 0 && !raise(SIGKILL), "it ends");
}`).Run(t.Context(), explore.Options{})
	require.ErrorIs(t, err, explore.ErrNoResult)
	require.ErrorContains(t, err, "signal: killed")
}

// Programs that harm themselves: each is reported, and the search ends.
func TestHarm(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ body, kind, says string }{
		"heap": {
			`for (int *volatile p = 0;;) { p = malloc(1000); *p = 1; explore_check(*p == 1, "it is 1"); }`,
			"limit", "allocates more than 4194304 bytes",
		},
		"runtime": {
			`char *volatile p = malloc(8); for (long i = 0;; i += 1 << 12) p[i] = 7;`, "crash",
			"neither a variable nor a block",
		},
		"index": {
			`int local[2] = {0}; for (volatile int i = 0;; i++) done += local[i];`, "crash",
			"an index or a pointer outside of an object",
		},
		"stack":  {`explore_check(deeper(1) == 0, "it returns");`, "crash", "uses more stack than it has"},
		"silent": {`while (!done) ;`, "livelock", "runs without end and does no visible step. It has"},
		"branch": {`for (volatile int i = 0;; i++) ;`, "livelock", "runs without end and does no visible step. It has"},
		"empty":  {`for (;;) ;`, "livelock", "runs without end and does no visible step. It has"},
		"long":   {`for (;;) atomic_fetch_add(&x, 1);`, "limit", "The first 19,500 steps are left out here"},
		"fence": {
			`while (!done) atomic_thread_fence(memory_order_acquire);`, "limit", "more than 20000 steps",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := built(t, `
#include <explore.h>
#include <stdatomic.h>
#include <stdlib.h>
int done;
atomic_int x;
int deeper(int n);
int (*volatile next)(int) = deeper;
int deeper(int n) { volatile char frame[1000]; frame[n % 1000] = 1; return next(n + 1) + frame[n % 1000]; }
void explore_test(void) { `+c.body+` }`).Run(t.Context(), explore.Options{})
			require.NoError(t, err)
			require.NotNil(t, r.Fault)
			require.Equal(t, c.kind, r.Fault.Kind, "%s", r.Fault.Text)
			text := textOf(t, r)
			require.Contains(t, text, c.says)
			require.NotContains(t, text, "waits in")
		})
	}
}

// A search that has not tried all schedules with fewer preemptions does not say that none of them fails.
func TestFewestPreemptions(t *testing.T) {
	t.Parallel()
	p := built(t, failsByOnePreemption)
	for _, all := range []bool{false, true} {
		r, err := p.Run(t.Context(), explore.Options{All: all})
		require.NoError(t, err)
		require.NotNil(t, r.Fault)
		text := textOf(t, r)
		require.Contains(t, text, "It has 1 preemption. ")
		require.Equal(t, !all, strings.Contains(text, " None with fewer fails. "), text)
		require.Contains(t, text, " The search has tried ")
	}
}

// Seven threads have room on a narrow screen.
func TestNarrowScreen(t *testing.T) {
	t.Parallel()
	r, err := built(t, `
#include <explore.h>
#include <stdatomic.h>
static atomic_int x;
static void other(void *unused) { (void)unused; atomic_fetch_add_explicit(&x, 1, memory_order_relaxed); }
void explore_test(void) {
    for (int i = 0; i < 6; i++)
        explore_join(explore_start(other, 0));
    explore_check(x == 7, "it is 7");
}`).Run(t.Context(), explore.Options{})
	require.NoError(t, err)
	require.NotNil(t, r.Fault)
	var text strings.Builder
	require.NoError(t, r.Write(&text, 30))
	for line := range strings.Lines(text.String()) {
		require.LessOrEqual(t, len(strings.TrimSuffix(line, "\n")), 72, "%s", line)
	}
}

// The sentence about a deadlock says how the threads wait for one another.
func TestDeadlocks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ main, other, says string }{
		{
			"explore_park();", "explore_lock(&m); explore_unpark(0);",
			"a deadlock: a thread sleeps and holds a lock, and another thread waits for that lock.",
		},
		{"explore_lock(&m);", "explore_lock(&m);", "a deadlock: thread 0 waits for m, which it holds itself."},
		{"explore_start(other, 0);", "explore_lock(&m);", "a deadlock: no thread can run."},
		{
			"explore_start(other, 0); explore_yield(); explore_lock(&n);", "explore_lock(&n); explore_lock(&m);",
			"a deadlock of 2 locks: each is held by a thread that waits for another one.",
		},
	} {
		r, err := built(t, `
#include <explore.h>
explore_mutex m, n;
static void other(void *unused) { (void)unused; `+c.other+` }
void explore_test(void) {
    explore_lock(&m);
    int t = explore_start(other, 0);
    `+c.main+`
    explore_join(t);
}`).Run(t.Context(), explore.Options{})
		require.NoError(t, err)
		require.NotNil(t, r.Fault)
		require.Contains(t, textOf(t, r), c.says)
	}
}

// The time ends a search of few long schedules.
func TestTimeOfLongSchedules(t *testing.T) {
	t.Parallel()
	r, err := built(t, `
#include <explore.h>
#include <stdatomic.h>
static atomic_int x;
int done;
static void add(void *unused) { (void)unused; x++; x++; x++; x++; }
void explore_test(void) {
    int t = explore_start(add, 0);
    add(0);
    explore_join(t);
    while (!done) ;
}`).Run(t.Context(), explore.Options{All: true, Time: 1})
	require.NoError(t, err)
	require.False(t, r.Complete)
	require.Less(t, r.Schedules, 64)
}

// A value that is put is taken once, whichever thread goes first.
func TestItems(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ other, main, kind, says string }{
		"taken": {
			"explore_put(7); flag = 1;", "while (!flag) { explore_yield(); } explore_take(7);", "", "No schedule fails",
		},
		"again": {
			"explore_put(7); flag = 1;",
			"while (!flag) { explore_yield(); } explore_take(7); explore_put(7); explore_take(7);", "", "No schedule fails",
		},
		"twice": {
			"explore_put(7); flag = 1; explore_take(7);", "if (flag) explore_take(7);", "double-take",
			"both take 7, which was put once.",
		},
		"lost": {
			"explore_put(7); explore_put(8); flag = 1;", "if (flag) explore_take(8);", "lost",
			"a lost task: 7, which thread 1 puts in program.c:6, is never taken; 8, which thread 1 puts in program.c:6, is",
		},
		"asleep": {
			"explore_put(7); explore_unpark(0);", "explore_park(); explore_park(); explore_take(7);", "deadlock",
			"7, which thread 1 puts in program.c:6, is never taken.",
		},
		"invented": {
			"explore_put(7); flag = 1;", "explore_take(7);", "check", "a check fails: a value that is taken was put.",
		},
		"put twice": {"explore_put(7);", "explore_put(7);", "check", "a value is taken before it is put again."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := built(t, `
#include <explore.h>
#include <stdatomic.h>
static atomic_int flag;
static void other(void *unused) { (void)unused; flag = 0;
    `+c.other+` }
void explore_test(void) {
    int thread = explore_start(other, 0);
    `+c.main+`
    explore_join(thread);
}`).Run(t.Context(), explore.Options{})
			require.NoError(t, err)
			text := textOf(t, r)
			require.Contains(t, text, c.says)
			if c.kind == "" {
				require.True(t, r.Complete)
				return
			}
			require.NotNil(t, r.Fault)
			require.Equal(t, c.kind, r.Fault.Kind)
		})
	}
}

// toStop counts with a lock, or without one. Its outcome is how far each thread has come, and what it has seen.
const toStop = `
#include <explore.h>
#include <stdatomic.h>
static atomic_int x;
atomic_int spin;
explore_mutex mutex;
static unsigned seen[3];
__attribute__((no_sanitize("thread"))) static void note(int value) {
    seen[explore_self()] = (unsigned)value;
    explore_outcome(seen[0] + 8 * seen[1] + 64 * seen[2]);
}
static void add(void *unused) { (void)unused; BEGIN
    int old = atomic_load(&x);
    note(1 + old);
    while (!atomic_compare_exchange_strong(&x, &old, old + 1)) { }
    note(4 + old); END
}
void explore_test(void) {
    int a = explore_start(add, 0), b = explore_start(add, 0);
    add(0);
    explore_join(a);
    explore_join(b);
    explore_check(x == 3, "nothing is lost");
}`

// A pass by random schedules says with which probability a fault was missed, if PCT has a bound for the program.
func TestBoundOfPCT(t *testing.T) {
	t.Parallel()
	with := func(wait string) *explore.Program {
		return built(t, `
#include <explore.h>
#include <stdatomic.h>
static atomic_int x;
static void add(void *unused) { (void)unused; int old = x; x = old + 1; `+wait+` }
void explore_test(void) {
    int a = explore_start(add, 0);
    add(0);
    explore_join(a);
    explore_outcome((unsigned)x);
}`)
	}
	const random = 500
	r, err := with("").Run(t.Context(), explore.Options{Random: true, Schedules: random})
	require.NoError(t, err)
	require.Nil(t, r.Fault)
	require.Equal(t, 2, r.PCT.Threads)
	require.Greater(t, r.PCT.Choices, 2)
	require.Greater(t, r.PCT.Schedules, random/2)
	require.Less(t, r.PCT.Missed(1), r.PCT.Missed(2))
	require.Less(t, r.PCT.Missed(2), r.PCT.Missed(3))
	require.Regexp(t, `a fault that needs 0, 1 or 2 preemptions is missed with a probability of at most [\d.e-]+, `+
		`[\d.e-]+ or [\d.e-]+ \(PCT: 2 threads, \d+ choices\)\.`, textOf(t, r))

	for _, wait := range []string{"explore_yield();", "explore_unpark(1 - explore_self()); explore_park();"} {
		r, err = with(wait).Run(t.Context(), explore.Options{Random: true, Schedules: random})
		require.NoError(t, err)
		require.Nil(t, r.PCT)
		require.NotContains(t, textOf(t, r), "PCT")
	}
}

// The fault that needs one preemption is missed no more often than the bound says.
func TestBoundOfPCTHolds(t *testing.T) {
	t.Parallel()
	const tries, each = 60, 60
	p := built(t, `
#include <explore.h>
#include <stdatomic.h>
static atomic_int x;
static void add(void *unused) { (void)unused; int old = x; x = old + 1; }
void explore_test(void) {
    int a = explore_start(add, 0);
    add(0);
    explore_join(a);
    explore_check(x == 2, "no addition is lost");
}`)
	missed := 0
	for seed := range uint64(tries) {
		r, err := p.Run(t.Context(), explore.Options{Random: true, Schedules: each, Seed: seed})
		require.NoError(t, err)
		if r.Fault == nil {
			missed++
		}
	}
	bound := explore.PCT{Threads: 2, Choices: 3, Divisor: 10, Schedules: each}
	require.LessOrEqual(t, float64(missed), tries*bound.Missed(2))
}

// When a thread stops and never goes on, the others go on if they need no lock of it.
func TestStops(t *testing.T) {
	t.Parallel()
	with := func(begin, end string) *explore.Program {
		return built(t, "#define BEGIN "+begin+"\n#define END "+end+"\n"+toStop)
	}
	free := with("", "")
	var outcomes []uint32
	for _, o := range []explore.Options{
		{Stops: 2, All: true, Time: time.Minute}, {Stops: 2, Preemptions: 100, Time: time.Minute},
	} {
		r, err := free.Run(t.Context(), o)
		require.NoError(t, err)
		require.Nil(t, r.Fault)
		require.True(t, r.Complete)
		require.Contains(t, textOf(t, r), "In a schedule, at most 2 threads stopped and never went on.")
		if outcomes != nil {
			require.Equal(t, outcomes, r.Outcomes, "the reduced search leaves out no outcome")
		}
		outcomes = r.Outcomes
	}
	_, err := free.Run(t.Context(), explore.Options{All: true, Preemptions: 1})
	require.ErrorIs(t, err, explore.ErrNoResult)
	require.ErrorContains(t, err, "leave out --random and --preemptions beside --all")
	for name, c := range map[string]struct {
		program *explore.Program
		says    string
	}{
		"mutex": {with("explore_lock(&mutex);", "explore_unlock(&mutex);"), "and holds mutex. The others cannot go on."},
		"spin": {
			with("while (atomic_exchange(&spin, 1)) { explore_yield(); }", "spin = 0;"),
			"has stopped at program.c:", // the explorer does not know who holds it
		},
	} {
		r, err := c.program.Run(t.Context(), explore.Options{})
		require.NoError(t, err)
		require.Nil(t, r.Fault, name)
		r, err = c.program.Run(t.Context(), explore.Options{Stops: 1})
		require.NoError(t, err)
		require.NotNil(t, r.Fault, name)
		text := textOf(t, r)
		require.Contains(t, text, c.says)
		require.Contains(t, text, "stops and never goes on")
		again, err := c.program.Run(t.Context(), explore.Options{Replay: r.Schedule})
		require.NoError(t, err)
		require.Equal(t, r.Steps, again.Steps)
		r, err = c.program.Run(t.Context(), explore.Options{Stops: 1, Random: true, Schedules: 10000})
		require.NoError(t, err)
		require.NotNil(t, r.Fault, name)
	}
}

// A program's stacks and blocks are at the same addresses in each process, also where the system draws addresses. So
// the steps of two processes can be compared.
func TestAddressesStay(t *testing.T) {
	t.Parallel()
	p := built(t, `
#include <explore.h>
#include <stdint.h>
#include <stdlib.h>
static unsigned page(void *p) { return (unsigned)((uintptr_t)p >> 12); }
void explore_test(void) {
    int local = 0;
    void *block = malloc(8);
    explore_outcome((page(&local) ^ page(block) * 31) % 1009);
    free(block);
}`)
	var first []uint32
	for range 3 {
		r, err := p.Run(t.Context(), explore.Options{})
		require.NoError(t, err)
		require.Nil(t, r.Fault)
		if first == nil {
			first = r.Outcomes
		}
		require.Equal(t, first, r.Outcomes)
	}
}
