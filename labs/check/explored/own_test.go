package explored_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/labs/catalogue"
	"fiberlab/labs/check/explored"
	"fiberlab/labs/grade"
	"fiberlab/labs/machine"
)

var blockOf = regexp.MustCompile("(?s)\n(?:In \\*([a-z]+)\\*, )?\\*([a-z.]+)\\*:\n\n```[a-z]+\n(.*?)```\n")

// The lab of labs/own.md is what the page says: its reference gets full marks, and its skeleton none.
func TestOwn(t *testing.T) {
	if err := machine.Controls(machine.Native()); err != nil {
		t.Skip(err)
	}
	page, err := os.ReadFile("../../own.md")
	require.NoError(t, err)
	home := filepath.Join(t.TempDir(), "lock")
	for _, block := range blockOf.FindAllStringSubmatch(string(page), -1) {
		path := filepath.Join(home, block[1], block[2])
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(block[3]), 0o600))
	}
	lab, err := catalogue.Find(home)
	require.NoError(t, err)
	require.Equal(t, "lock", lab.Number)
	graded := func(folder string) *grade.Report {
		r, err := lab.Grade(t.Context(), grade.Options{
			Arch: machine.Native(), Dir: folder, Seed: 1, Emulator: strings.Fields(os.Getenv("FIBERLAB_EXEC")),
		})
		require.NoError(t, err)
		require.Nil(t, r.Build)
		return r
	}
	require.Equal(t, 100, graded(filepath.Join(home, "reference")).Points)
	skeleton := graded(home)
	require.Equal(t, 0, skeleton.Points)
	require.Contains(t, skeleton.Items[0].Faults[0].Text, "build/labs explore "+home+"/*.[cS] "+home+"/tests/counter.c")

	// A fault that only the second program meets has a command, too.
	path := filepath.Join(home, grade.OwnFile)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, bytes.ReplaceAll(text, []byte("1_000"), []byte("1")), 0o600))
	lab, err = catalogue.Find(home)
	require.NoError(t, err)
	said := graded(home).Items[0].Faults[0].Text
	require.Contains(t, said, "seen from outside, a schedule fails: ")
	require.Contains(t, said, "build/labs explore "+home+"/*.[cS] "+home+"/tests/counter.c --replay ")

	require.NoError(t, os.WriteFile(filepath.Join(home, "tests", "counter.c"), []byte("int x\n"), 0o600))
	_, err = lab.Grade(t.Context(), grade.Options{Arch: machine.Native(), Dir: home})
	require.ErrorContains(t, err, "the lab's tests: counter.c:1: error: expected ", "no student is at fault")

	const some = "title = \"t\"\nsources = [\"*\"]\n[[scenario]]\n"
	const twice = "file = \"x.c\"\nname = \"n\"\npoints = 1\nschedules = 1\n"
	for line, want := range map[string]string{
		"titel = \"x\"":                   "titel means nothing: labs/own.md describes the file",
		"sources = [\"*\"]":               "it needs a title, sources and a scenario",
		some + twice + "preemptions = -1": `scenario "n" has preemptions below 0: leave the line out`,
		some + "file = \"../x.c\"":        `scenario "" needs a file in tests`,
		some + "file = \"x.c\"\nname = \"n\"\npoints = 1\nschedules = 1": "x.c: no such",
		some + twice + "[[scenario]]\n" + twice:                          `two scenarios have the name "n"`,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(home, grade.OwnFile), []byte(line), 0o600))
		_, err = explored.Own(home)
		require.ErrorContains(t, err, want)
	}
}
