package verify_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/labs/explore"
	"fiberlab/labs/explore/verify"
	"fiberlab/labs/machine"
)

// tools is the runtime that the tests have in common.
var tools struct {
	sync.Mutex
	*explore.Runtime
}

func TestMain(m *testing.M) {
	code := m.Run()
	if tools.Runtime != nil {
		if err := tools.Close(); err != nil {
			panic(err)
		}
	}
	os.Exit(code)
}

// build builds a program of explore's testdata, or one at an absolute path, and returns the executable's.
func build(t *testing.T, file string, macros ...string) string {
	t.Helper()
	if !filepath.IsAbs(file) {
		file = filepath.Join("..", "testdata", file)
	}
	return buildAll(t, []string{file}, macros...)
}

func buildAll(t *testing.T, files []string, macros ...string) string {
	t.Helper()
	compile(t)
	p, _, err := tools.Build(t.Context(), files, explore.BuildOptions{Define: macros})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p.Path
}

// compile compiles the runtime, if no test has done it before.
func compile(t *testing.T) {
	t.Helper()
	tools.Lock()
	defer tools.Unlock()
	if tools.Runtime != nil {
		return
	}
	r, err := explore.NewRuntime(context.Background(), "")
	require.NoError(t, err)
	tools.Runtime = r
}

// options returns what the tests verify by. Programs run natively or in an emulator, as the tests do.
func options(schedules int) verify.Options {
	return verify.Options{
		Machine: machine.Options{Emulator: strings.Fields(os.Getenv("FIBERLAB_EXEC"))}, Seed: 1, Schedules: schedules,
	}
}

// written returns the name of a file with a program's text.
func written(t *testing.T, source string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "program.c")
	require.NoError(t, os.WriteFile(file, []byte(source), 0o600))
	return file
}

// fault returns the kind of the fault that so many schedules of the program in file, built with macro, find.
func fault(t *testing.T, file, macro string, schedules int) string {
	t.Helper()
	r, err := verify.Program(t.Context(), build(t, file, macro), options(schedules))
	require.NoError(t, err)
	if r.Fault == nil {
		return ""
	}
	return r.Fault.Kind
}

// size returns how many schedules are drawn of a program without a fault.
func size() int {
	switch {
	case os.Getenv("FIBERLAB_EXEC") != "":
		return 5
	case testing.Short():
		return 30
	}
	return 100
}

// programs are the files of explore's testdata. faults has macros, each with the kinds of fault that may be found
// first: of those that less than 300 schedules show. The explorer finds the others as well.
var programs = []struct {
	file    string
	correct []string // the macros of the correct form
	faults  map[string][]string
}{
	{file: "classic/dekker", faults: map[string][]string{"RELAXED": {"race"}, "RELEASE_ACQUIRE": {"race"}}},
	{file: "classic/peterson", faults: map[string][]string{"RELEASE_ACQUIRE": {"race"}, "TURN_FIRST": {"race"}}},
	{file: "classic/hyman", correct: []string{"CORRECT"}, faults: map[string][]string{"HYMAN": {"race"}}},
	{file: "classic/bakery", faults: map[string][]string{"RELAXED": {"race"}, "NOT_CHOOSING": {"race"}}},
	{file: "classic/chase_lev", faults: map[string][]string{
		"NO_TAKE_FENCE": {"double-take", "lost"}, "NO_PUSH_FENCE": {"race"}, "NO_CAS": {"double-take", "lost"},
	}},
	{file: "classic/double_checked", faults: map[string][]string{"RELAXED": {"race"}, "NO_SECOND_CHECK": {"check"}}},
	{file: "classic/treiber", faults: map[string][]string{"NO_COUNTER": {"check", "race"}, "RELAXED_PUSH": {"race"}}},
	{file: "classic/lost_wakeup", faults: map[string][]string{
		"SIGNAL_BEFORE_WAIT": {"deadlock"}, "IF_FOR_WHILE": {"check"},
	}},
	{file: "classic/seqlock", faults: map[string][]string{"NO_READER_FENCE": {"check"}, "PLAIN": {"race"}}},
	{file: "classic/ticket_lock", faults: map[string][]string{"TORN_DRAW": {"race", "check", "livelock"}}},
	{file: "classic/mcs_lock", faults: map[string][]string{"NO_WAIT_FOR_LINK": {"livelock", "race"}}},
	{file: "classic/bounded_buffer", faults: map[string][]string{"ONE_CONDITION": {"deadlock"}}},
	{file: "classic/readers_writers", faults: map[string][]string{"NO_MUTEX": {"race", "livelock"}}},
	{file: "classic/philosophers", faults: map[string][]string{"ALL_LEFT": {"deadlock"}}},
	{file: "classic/ring", faults: map[string][]string{"RELAXED_POP": {"race"}, "OFF_BY_ONE": {"race", "check"}}},
	{file: "classic/reference_count", faults: map[string][]string{"TORN_DROP": {"race", "check", "double-free"}}},
	{file: "own/eventcount", faults: map[string][]string{"NO_WAKE": {"deadlock"}}},
	{file: "own/deque", faults: map[string][]string{}},
}

// The correct form of each program passes, and its faults are found.
func TestPrograms(t *testing.T) {
	t.Parallel()
	for _, p := range programs {
		t.Run(p.file, func(t *testing.T) {
			t.Parallel()
			r, err := verify.Program(t.Context(), build(t, p.file+".c", p.correct...), options(size()))
			require.NoError(t, err)
			require.Nil(t, r.Fault)
			require.Equal(t, size(), r.Schedules)
			if testing.Short() {
				return
			}
			for macro, kinds := range p.faults {
				r, err := verify.Program(t.Context(), build(t, p.file+".c", macro), options(300))
				require.NoError(t, err, macro)
				require.NotNil(t, r.Fault, macro)
				require.Contains(t, kinds, r.Fault.Kind, macro)
				require.NotEmpty(t, r.Fault.Steps, macro)
				require.Equal(t, r.Schedules, r.Fault.Number, macro)
			}
		})
	}
}

// A program without a choice has one schedule.
func TestOneSchedule(t *testing.T) {
	t.Parallel()
	const source = `
#include <explore.h>
#include <stdatomic.h>
static atomic_int count;
void explore_test(void) {
    for (int i = 0; i < 3; i++)
        atomic_fetch_add(&count, explore_choose(1) + 1);
    explore_check(atomic_load(&count) == 3, "it counts");
}`
	file := written(t, source)
	r, err := verify.Program(t.Context(), build(t, file), options(size()))
	require.NoError(t, err)
	require.Nil(t, r.Fault)
	require.Equal(t, 1, r.Schedules)
}

// The verifier draws what the program chooses, and its own runtime makes the same choices.
func TestChoices(t *testing.T) {
	t.Parallel()
	const source = `
#include <explore.h>
#include <stdatomic.h>
static atomic_uint sum;
static void other(void *unused) {
    (void)unused;
    atomic_fetch_add(&sum, explore_choose(2));
    atomic_fetch_add(&sum, explore_choose(26) + explore_choose(1) + explore_choose(3));
}
void explore_test(void) {
    unsigned mine = explore_choose(2);
    int t = explore_start(other, 0);
    explore_join(t);
    explore_check(sum + mine < 25 + LIMIT, "it is small");
}`
	file := written(t, source)
	r, err := verify.Program(t.Context(), build(t, file, "LIMIT=5"), options(size()))
	require.NoError(t, err)
	require.Nil(t, r.Fault)
	r, err = verify.Program(t.Context(), build(t, file, "LIMIT=-5"), options(300))
	require.NoError(t, err)
	require.NotNil(t, r.Fault)
	require.Equal(t, "check", r.Fault.Kind)
	require.NotEmpty(t, r.Fault.Schedule)
}

// A schedule may have as many visible steps as in a search, and more others than the program's own runtime records.
func TestManySteps(t *testing.T) {
	t.Parallel()
	const source = `
#include <explore.h>
#include <stdatomic.h>
#include <string.h>
char bytes[1 << 16];
static atomic_int count;
void explore_test(void) {
    while (atomic_fetch_add(&count, 1) < 19000) { }
    for (int i = 0; i < 10; i++)
        memset(bytes, i, sizeof bytes);
}`
	file := written(t, source)
	r, err := verify.Program(t.Context(), build(t, file), options(1))
	require.NoError(t, err)
	require.False(t, r.Fault != nil, "%v", r.Fault)
}

// Atomic variables of two sizes may have one place, as locals of two calls do: one after the other, not at once.
func TestSizes(t *testing.T) {
	t.Parallel()
	const source = `
#include <explore.h>
#include <stdatomic.h>
static union { atomic_bool small; atomic_long large; } place;
static void other(void *unused) { (void)unused; place.small = 1; explore_check(place.small, "it is 1"); }
void explore_test(void) {
    int t = explore_start(other, 0);
    FIRST;
    place.large = 0x101;
    explore_check(place.large == 0x101, "it is large");
    place.small = 0;
    explore_check(place.large == 0x100, "one byte of it has changed");
    LAST;
}`
	file := written(t, source)
	both := func(macros ...string) (*explore.Fault, *verify.Fault) {
		path := build(t, file, macros...)
		own, err := (&explore.Program{Path: path}).Run(t.Context(), explore.Options{})
		require.NoError(t, err)
		r, err := verify.Program(t.Context(), path, options(size()))
		require.NoError(t, err)
		return own.Fault, r.Fault
	}
	own, outside := both("FIRST=explore_join(t)", "LAST=")
	require.Nil(t, own)
	require.Nil(t, outside)
	own, outside = both("FIRST=", "LAST=explore_join(t)")
	require.NotNil(t, own)
	require.Equal(t, "limit", own.Kind)
	require.NotNil(t, outside)
	require.Equal(t, "limit", outside.Kind)
}

// A mutex that was freed is not locked, also by a thread that has waited for it.
func TestFreedMutex(t *testing.T) {
	t.Parallel()
	const source = `
#include <explore.h>
#include <stdlib.h>
static void other(void *m) { explore_lock(m); explore_unlock(m); }
void explore_test(void) {
    explore_mutex *m = calloc(1, sizeof *m);
    int t = explore_start(other, m);
    LATER;
    free(m);
    explore_join(t);
}`
	file := written(t, source)
	for later, kind := range map[string]string{"LATER=": "use-after-free", "LATER=explore_yield()": "race"} {
		require.Equal(t, kind, fault(t, file, later, 1), later)
	}
	require.Empty(t, fault(t, file, "LATER=explore_join(t)", size()))
}

// realloc takes what malloc has returned, also of no bytes, and nothing else.
func TestRealloc(t *testing.T) {
	t.Parallel()
	const source = `
#include <explore.h>
#include <stdlib.h>
void explore_test(void) {
    char *volatile p = malloc(0);
    free(realloc(p + FAR, 8));
}`
	file := written(t, source)
	require.Empty(t, fault(t, file, "FAR=0", 1))
	require.Equal(t, "crash", fault(t, file, "FAR=1", 1))
}

// The string of a schedule that failed makes the program's own runtime fail in the same way.
func TestSchedule(t *testing.T) {
	t.Parallel()
	path := build(t, "classic/philosophers.c", "ALL_LEFT")
	r, err := verify.Program(t.Context(), path, options(300))
	require.NoError(t, err)
	require.NotNil(t, r.Fault)
	require.Equal(t, "deadlock", r.Fault.Kind)
	own, err := (&explore.Program{Path: path}).Run(t.Context(), explore.Options{Replay: r.Fault.Schedule})
	require.NoError(t, err)
	require.NotNil(t, own.Fault)
	require.Equal(t, r.Fault.Kind, own.Fault.Kind)
	if os.Getenv("FIBERLAB_EXEC") != "" { // where each stop takes long
		return
	}
	again, err := verify.Program(t.Context(), path, options(300))
	require.NoError(t, err)
	require.Equal(t, r, again, "one seed, one verdict")
}
