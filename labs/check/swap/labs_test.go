package swap_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/labs/check/swap"
	"fiberlab/labs/grade"
	"fiberlab/labs/machine"
	"fiberlab/labs/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Init()
	os.Exit(m.Run())
}

// folders are the reference and one of the other solutions of a lab: make labs-selftest grades all of them.
func folders(t *testing.T, number string) []string {
	solutions, err := filepath.Glob(filepath.Join("..", "..", number, "solutions", "*"))
	require.NoError(t, err)
	require.NotEmpty(t, solutions)
	return []string{solutions[0], filepath.Join("..", "..", number, "reference")}
}

func TestSolutionsGetFullMarks(t *testing.T) {
	for _, l := range swap.Labs() {
		for _, dir := range folders(t, l.Number) {
			t.Run(filepath.Join(l.Number, filepath.Base(dir)), func(t *testing.T) {
				if err := machine.Controls(l.Arches[0]); err != nil {
					t.Skip(err)
				}
				r, err := l.Grade(t.Context(), grade.Options{
					Arch: l.Arches[0], Dir: dir, Rest: []string{filepath.Join("..", "..", l.Number, "reference")}, Seed: 1,
				})
				require.NoError(t, err)
				for _, i := range r.Items {
					for _, f := range i.Faults {
						t.Errorf("%s (%d): %s (%s:%d)", i.Name, i.Of, f.Text, f.Place.File, f.Place.Line)
					}
				}
				require.Equal(t, 100, r.Of)
				require.True(t, r.Full())
			})
		}
	}
}

// gradeWith grades the reference of a lab whose swap.S is another text, in a file of that name.
func gradeWith(t *testing.T, l *grade.Lab, name string, change func(text string) string) *grade.Report {
	t.Helper()
	return gradeChanged(t, l, func(dir string) {
		text, err := os.ReadFile(filepath.Join(dir, "swap.S"))
		require.NoError(t, err)
		require.NoError(t, os.Remove(filepath.Join(dir, "swap.S")))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(change(string(text))), 0o600))
	})
}

// replace replaces the only occurrence of some text in a file.
func replace(t *testing.T, file, old, text string) {
	t.Helper()
	was, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(was), old), file)
	require.NoError(t, os.WriteFile(file, []byte(strings.Replace(string(was), old, text, 1)), 0o600))
}

// gradeChanged grades the reference of a lab, with what is given beside it, after a change in its folder.
func gradeChanged(t *testing.T, l *grade.Lab, change func(dir string)) *grade.Report {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join("..", "..", l.Number, "reference"))))
	for _, name := range l.Given {
		text, err := l.File(name)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	change(dir)
	if err := machine.Controls(l.Arches[0]); err != nil {
		t.Skip(err)
	}
	r, err := l.Grade(t.Context(), grade.Options{Arch: l.Arches[0], Dir: dir, Seed: 1})
	require.NoError(t, err)
	return r
}

// A stack pointer of which half is saved is not called unsaved.
func TestHalfOfTheStackPointer(t *testing.T) {
	for number, change := range map[string][2]string{
		"02": {"movq    %rdx, REG_RSP(%rdi)", "movl    %edx, REG_RSP(%rdi)"},
		"03": {"str     x2, [x0, #REG_SP]", "str     w2, [x0, #REG_SP]"},
	} {
		l := swap.Labs()[slices.IndexFunc(swap.Labs(), func(l *grade.Lab) bool { return l.Number == number })]
		r := gradeWith(t, l, "swap.S", func(text string) string {
			require.Equal(t, 1, strings.Count(text, change[0]))
			return strings.Replace(text, change[0], change[1], 1)
		})
		k := slices.IndexFunc(
			r.Items, func(i grade.ItemReport) bool { return i.Name == "the stack pointer comes back" },
		)
		require.Len(t, r.Items[k].Faults, 1)
		require.Regexp(
			t, `sp comes back changed: only its lower 4 bytes are saved, at offset \d+ \(swap\.S:\d+\)$`,
			r.Items[k].Faults[0].Text,
		)
	}
}
