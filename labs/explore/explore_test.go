package explore_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/labs/explore"
	"fiberlab/labs/machine"
	"fiberlab/labs/sandbox"
)

// runtimes are the runtimes that the tests have in common, by compiler. TestMain removes them.
var runtimes struct {
	sync.Mutex
	made map[string]*explore.Runtime
}

func TestMain(m *testing.M) {
	code := m.Run()
	for _, r := range runtimes.made {
		if err := r.Close(); err != nil {
			panic(err)
		}
	}
	os.Exit(code)
}

// toolsOf returns the runtime by that compiler; empty: the usual one.
func toolsOf(t *testing.T, compiler string) *explore.Runtime {
	t.Helper()
	runtimes.Lock()
	defer runtimes.Unlock()
	if r := runtimes.made[compiler]; r != nil {
		return r
	}
	r, err := explore.NewRuntime(context.Background(), compiler)
	require.NoError(t, err)
	if runtimes.made == nil {
		runtimes.made = map[string]*explore.Runtime{}
	}
	runtimes.made[compiler] = r
	return r
}

// sample returns all of the list; in a short run every third, and where programs run by an emulator every sixth.
func sample[T any](all []T) (some []T) {
	step := 1
	if testing.Short() {
		step = 3
	}
	if os.Getenv("FIBERLAB_EXEC") != "" {
		step = 6
	}
	for i := 0; i < len(all); i += step {
		some = append(some, all[i])
	}
	return some
}

// clang returns the command of clang; the test is skipped if there is none, or if programs run by an emulator.
func clang(t *testing.T) string {
	t.Helper()
	if os.Getenv("FIBERLAB_EXEC") != "" {
		t.Skip("the other architecture has one compiler here")
	}
	for _, name := range []string{"clang", "clang-14", "clang-15", "clang-16", "clang-17", "clang-18", "clang-19"} {
		if _, err := exec.LookPath(name); err == nil {
			return name
		}
	}
	t.Skip("there is no clang")
	return ""
}

// searched builds a program of testdata and explores it. It logs the schedule that fails.
func searched(
	t *testing.T, tools *explore.Runtime, file string, macros []string, o explore.Options,
) *explore.Result {
	t.Helper()
	file = filepath.Join("testdata", file)
	p, warnings, err := tools.Build(t.Context(), []string{file}, explore.BuildOptions{Define: macros})
	require.NoError(t, err)
	defer func() { require.NoError(t, p.Close()) }()
	require.Empty(t, warnings)
	r, err := p.Run(t.Context(), o)
	require.NoError(t, err)
	if r.Fault != nil {
		var text strings.Builder
		require.NoError(t, r.Write(&text, 0))
		t.Log("\n" + text.String())
	}
	return r
}

// Each schedule of a program that Link makes finds the variables with their first values. A function by the name of one
// of the C library is the program's.
func TestLink(t *testing.T) {
	tools, folder := toolsOf(t, ""), t.TempDir()
	source, object := filepath.Join(folder, "program.c"), filepath.Join(folder, "object.o")
	const text = `#include "explore.h"
static int set = 1, unset;
static void change(void *unused) { (void)unused; explore_check(set++ == 1 && !unset++, "first values"); }
int qsort(int i) { return i + 1; }
void explore_test(void) { explore_check(qsort(1) == 2, "own qsort"); explore_join(explore_start(change, 0)); }
`
	require.NoError(t, os.WriteFile(source, []byte(text), 0o600))
	words, err := sandbox.Compiler(machine.Native())
	require.NoError(t, err)
	words = slices.Concat(words, tools.Words(), []string{"-c", source, "-o", object})
	said, err := exec.Command(words[0], words[1:]...).CombinedOutput()
	require.NoError(t, err, string(said))
	p := &explore.Program{Path: filepath.Join(folder, "program")}
	require.NoError(t, tools.Link(t.Context(), p.Path, []string{object}))
	r, err := p.Run(t.Context(), explore.Options{Random: true, Schedules: 10})
	require.NoError(t, err)
	require.Nil(t, r.Fault)
	require.Equal(t, 10, r.Schedules)
}
