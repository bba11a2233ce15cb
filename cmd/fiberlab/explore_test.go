package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// toExplore returns a program whose writer sets a flag after a message.
func toExplore(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "message.c")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

const messagePassing = `#include <explore.h>
#include <stdatomic.h>
#include <stddef.h>
#ifndef STORE
#define STORE memory_order_release
#endif
static int message;
static atomic_int flag;
static void writer(void *unused) {
    message = 42;
    atomic_store_explicit(&flag, 1, STORE);
}
void explore_test(void) {
    int w = explore_start(writer, NULL);
    if (atomic_load_explicit(&flag, memory_order_acquire))
        explore_check(message == 42, "the message has come");
    explore_join(w);
}
`

// A schedule that fails is shown, and runs again by its text.
func TestExplore(t *testing.T) {
	file := toExplore(t, messagePassing)
	relaxed := []string{"explore", file, "-D", "STORE=memory_order_relaxed"}
	got := newLab(nil, nil).test(t, relaxed...)
	require.Equal(t, exitFailed, got.code, got.stderr)
	require.Empty(t, got.stderr)
	require.Contains(t, got.stdout, "A schedule fails: a data race: message.c:10 of thread 1 and message.c:16 of thread 0")
	require.Contains(t, got.stdout, "lacks a release (message.c:11)")
	require.Regexp(t, `(?m)^ +\d+ +11 atomic_store_explicit\(&flag, 1, STORE\);`, got.stdout)
	requireColumns(t, 120, got.stdout)
	schedule := regexp.MustCompile(`(?m)^Schedule: (\S+)$`).FindStringSubmatch(got.stdout)
	require.NotNil(t, schedule)

	got = newLab(nil, nil).test(t, append(relaxed, "--json", "--replay", schedule[1])...)
	require.Equal(t, exitFailed, got.code, got.stderr)
	var document struct {
		Schedules struct {
			Verdict, Schedule string
			Fault             struct{ Kind string }
			Steps             []struct{ Op string }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &document))
	require.Equal(t, "race", document.Schedules.Fault.Kind)
	require.Equal(t, schedule[1], document.Schedules.Schedule)
	require.NotEmpty(t, document.Schedules.Steps)
}

// The page of a schedule that fails is written, and none if no schedule does.
func TestExplorePage(t *testing.T) {
	file, page := toExplore(t, messagePassing), filepath.Join(t.TempDir(), "page.html")
	got := newLab(nil, nil).test(t, "explore", file, "--html", page)
	require.Zero(t, got.code, got.stderr)
	requireOneLine(t, got.stderr)
	require.NoFileExists(t, page)

	got = newLab(nil, nil).test(t, "explore", file, "-D", "STORE=memory_order_relaxed", "--html", page)
	require.Equal(t, exitFailed, got.code, got.stderr)
	require.Empty(t, got.stderr)
	written, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Contains(t, string(written), "lacks a release (message.c:11)")
}

// A program that is right says what was tried, and is kept if that is asked for. A given file is left out where there
// is one of one's own.
func TestExplorePasses(t *testing.T) {
	file := toExplore(t, messagePassing)
	kept, given := filepath.Join(t.TempDir(), "kept"), filepath.Join(t.TempDir(), "swap", filepath.Base(file))
	require.NoError(t, os.CopyFS(filepath.Dir(given), os.DirFS(filepath.Dir(file))))
	got := newLab(nil, nil).test(t, "explore", file, given, "--keep", kept)
	require.Zero(t, got.code, got.stderr)
	require.Empty(t, got.stderr)
	require.Regexp(t, `^No schedule fails: \d+ schedules? ran in [\d.]+ s, and any other one is equivalent`, got.stdout)
	require.FileExists(t, kept)
}

// Each mistake gets one line.
func TestExploreMistakes(t *testing.T) {
	file := toExplore(t, messagePassing)
	for _, args := range [][]string{
		{}, {"nowhere.c"}, {t.TempDir()}, {file, "--time", "0s"}, {file, "--schedules", "0"}, {file, "--preemptions", "-1"},
		{file, "--replay", ""}, {file, "--replay", "a", "--random"}, {file, "--compiler", "no-such-compiler"},
		{file, "--keep", ""}, {file, "--html", ""}, {file, "--stops", "7"},
		{file, "--replay", "no schedule"}, {file, "--random", "--all"},
	} {
		got := newLab(nil, nil).test(t, append([]string{"explore"}, args...)...)
		require.Equal(t, exitUsage, got.code, "%v: %s", args, got.stderr)
		requireOneLine(t, got.stderr)
		require.Empty(t, got.stdout)
	}
	got := newLab(nil, nil).test(t, "explore", toExplore(t, "no C\n"))
	require.Equal(t, 3, got.code)
	require.Contains(t, got.stderr, "the program does not build:\n")

	compiler := filepath.Join(t.TempDir(), "cc") // without the flag
	require.NoError(t, os.WriteFile(compiler, []byte("#!/bin/sh\ncase \"$*\" in *sanitize*) exit 1;; esac\n"), 0o700))
	got = newLab(nil, nil).test(t, "explore", file, "--compiler", compiler)
	require.Equal(t, exitUsage, got.code)
	requireOneLine(t, got.stderr)
	require.Contains(t, got.stderr, "has no -fsanitize=thread")
}
