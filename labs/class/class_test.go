package class

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"fiberlab/labs/catalogue"
	"fiberlab/labs/grade"
	"fiberlab/labs/hostile"
	"fiberlab/labs/machine"
	"fiberlab/labs/mutate"
	"fiberlab/labs/sandbox"
)

// ownSwap is the lab about the swap of this machine.
func ownSwap(t *testing.T) *grade.Lab {
	t.Helper()
	if err := machine.Controls(machine.Native()); err != nil {
		t.Skip(err)
	}
	number := "02"
	if machine.Native() == machine.ARM64 {
		number = "03"
	}
	lab, err := catalogue.Find(number)
	require.NoError(t, err)
	return lab
}

// A class of drawn mutants, hostile submissions and right ones gets what each of them gets alone. A submission that is
// changed later is graded again, and one that is gone leaves nothing behind.
func TestGrade(t *testing.T) {
	if sandbox.Missing() != "" {
		t.Skip(sandbox.Missing()) // hostile submissions are among them
	}
	lab := ownSwap(t)
	dir, out := t.TempDir(), filepath.Join(t.TempDir(), "new", "out")
	reference := filepath.Join("..", lab.Number, "reference")
	for _, student := range []string{"=right", "Änne O'Neil #2"} {
		require.NoError(t, os.CopyFS(filepath.Join(dir, student), os.DirFS(reference)))
	}
	text, err := os.ReadFile(filepath.Join(reference, "swap.S"))
	require.NoError(t, err)
	mutants := mutate.Assembly(machine.Native(), "swap.S", string(text))
	drawn, err := strconv.ParseUint(os.Getenv("FIBERLAB_SEED"), 10, 64)
	if err != nil {
		drawn = rand.Uint64N(1 << 16)
	}
	random := rand.New(rand.NewPCG(drawn, 0))
	for i := range 2 {
		m := mutants[random.IntN(len(mutants))]
		t.Logf("FIBERLAB_SEED=%d: mutant %d is %s", drawn, i, m.Name())
		student := filepath.Join(dir, fmt.Sprintf("mutant %d", i))
		require.NoError(t, os.CopyFS(student, os.DirFS(reference)))
		require.NoError(t, os.WriteFile(filepath.Join(student, "swap.S"), []byte(m.Text), 0o600))
	}
	for _, h := range hostile.Set() {
		if h.Name == "fork" || h.Name == "link" || h.Name == "exit" {
			student := filepath.Join(dir, h.Name)
			require.NoError(t, os.Mkdir(student, 0o700))
			require.NoError(t, h.Write(student, ".."))
		}
	}
	seed := uint64(7)
	o := Options{
		Lab: lab, Arch: machine.Native(), Dir: dir, Out: out, Seed: &seed,
		Emulator: strings.Fields(os.Getenv("FIBERLAB_EXEC")),
	}
	b, err := Grade(t.Context(), o)
	require.NoError(t, err)
	require.Zero(t, b.Failed)
	require.Equal(t, []int{6, 1}, []int{b.Examined, b.Unbuilt})
	for _, row := range b.Students {
		alone, err := lab.Grade(
			t.Context(), grade.Options{Arch: o.Arch, Dir: filepath.Join(dir, row.Student), Seed: seed, Emulator: o.Emulator},
		)
		require.NoError(t, err)
		require.Equal(t, alone.Points, row.Points, row.Student)
	}

	table, err := os.ReadFile(filepath.Join(out, "gradebook.csv"))
	require.NoError(t, err)
	lines, err := csv.NewReader(strings.NewReader(string(table))).ReadAll()
	require.NoError(t, err)
	require.Len(t, lines, 8)
	require.Equal(t, []string{"'=right", "100", "100", "0", ""}, lines[1][:5], "no formula")
	for i, row := range b.Students {
		require.Equal(t, strconv.Itoa(row.Points), lines[i+1][1])
		require.FileExists(t, filepath.Join(out, "students", row.Student+".html"))
	}

	foreign := filepath.Join(out, "students", "foreign.json")
	left := filepath.Join(out, ".new-1")
	require.NoError(t, errors.Join(os.WriteFile(foreign, []byte("{}"), 0o600), os.WriteFile(left, nil, 0o600)))
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "exit")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "=right", "swap.S"), []byte("nonsense"), 0o600))
	var told []string
	o.Progress = func(done, of int, r *Record) { told = append(told, r.Student) }
	lock := func() *os.File {
		held, err := os.Open(out)
		require.NoError(t, err)
		require.NoError(t, unix.Flock(int(held.Fd()), unix.LOCK_EX))
		return held
	}
	held := lock()
	time.AfterFunc(50*time.Millisecond, func() { _ = held.Close() }) // as what a killed run has left does
	again, err := Grade(t.Context(), o)
	require.NoError(t, err)
	require.Len(t, told, 6)
	require.Equal(t, 0, again.Students[0].Points)
	require.Contains(t, again.Students[0].Note, "swap.S:1: ")
	require.Equal(t, b.Students[len(b.Students)-1], again.Students[len(again.Students)-1], "as it was, with its report")
	require.NoFileExists(t, filepath.Join(out, "students", "exit.html"))
	require.NoFileExists(t, filepath.Join(out, "students", "exit.json"))
	require.NoFileExists(t, left)
	require.FileExists(t, foreign)
	for _, name := range []string{".", "students", "students/fork.json", "gradebook.csv"} {
		info, err := os.Stat(filepath.Join(out, name))
		require.NoError(t, err)
		require.Zero(t, info.Mode().Perm()&0o077, "%s: nobody else may read it", name)
	}

	var written Book
	text, err = os.ReadFile(filepath.Join(out, "gradebook.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &written))
	require.Len(t, written.Students, 6)

	held = lock()
	_, err = Grade(t.Context(), o)
	require.ErrorContains(t, err, "another run grades into it")
	require.NoError(t, held.Close())
	seed = 8
	_, err = Grade(t.Context(), o)
	require.ErrorContains(t, err, "was begun with another folder of submissions, lab, architecture, seed, points, "+
		"compiler, emulator or build")
	seed = 7
	compiler, err := sandbox.Compiler(o.Arch)
	require.NoError(t, err)
	t.Run("another compiler", func(t *testing.T) {
		t.Setenv("CC", strings.Join(compiler, " ")+" -O1")
		_, err := Grade(t.Context(), o)
		require.ErrorContains(t, err, "was begun with another")
	})
	o.Dir = t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(o.Dir, "alice"), 0o700))
	_, err = Grade(t.Context(), o)
	require.ErrorContains(t, err, "was begun with another folder of submissions")
	o.Dir = dir
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(dir, link))
	for _, o.Out = range []string{dir + "/out", link + "/new/out"} {
		_, err = Grade(t.Context(), o)
		require.ErrorContains(t, err, "choose a folder that is apart from the submissions")
	}
	o.Out = reference
	_, err = Grade(t.Context(), o)
	require.ErrorContains(t, err, "has other files")
	require.NoDirExists(t, filepath.Join(reference, "students"))
}

// What grades by a teacher's own lab counts as the grader does.
func TestGraderDigest(t *testing.T) {
	lab := &grade.Lab{Folder: t.TempDir(), Fixed: []string{"lock.h"}}
	require.NoError(t, os.Mkdir(filepath.Join(lab.Folder, "tests"), 0o700))
	names := []string{grade.OwnFile, "lock.h", "tests/counter.c"}
	for _, name := range names {
		require.NoError(t, os.WriteFile(filepath.Join(lab.Folder, name), nil, 0o600))
	}
	known := map[string]string{}
	for _, name := range append(names, "") {
		digest, err := graderDigest("class.go", lab)
		require.NoError(t, err)
		require.NotContains(t, known, digest, "%s is as it was before %s", known[digest], name)
		known[digest] = name
		if name != "" {
			require.NoError(t, os.WriteFile(filepath.Join(lab.Folder, name), []byte("changed"), 0o600))
		}
	}
}

func TestSubmissions(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"alice.zip", "bob.TAR.GZ", "notes.txt", ".DS_Store", "dave.7z", "bad\xff.zip"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	for _, name := range []string{"carol", "__MACOSX"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o700))
	}
	students, skipped, err := Submissions(dir)
	require.NoError(t, err)
	require.Equal(
		t, map[string]string{"alice": "alice.zip", "bob": "bob.TAR.GZ", "carol": "carol", "dave": "dave.7z"}, students,
	)
	require.Equal(t, []string{
		"__MACOSX: a Mac has put it beside what it packed", "bad\xff.zip: its name is not UTF-8: rename it",
		"notes.txt: it is neither a folder nor an archive",
	}, skipped)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "alice"), 0o700))
	_, _, err = Submissions(dir)
	require.ErrorContains(t, err, "both alice and alice.zip are of alice: keep one of them")
	_, _, err = Submissions(t.TempDir())
	require.ErrorContains(t, err, "has no submissions")
}

// What differs in numbers alone is one diagnosis. Numbers in names count.
func TestCommonest(t *testing.T) {
	require.Equal(
		t, []Diagnosis{{"saved at offset 16", 3}, {"r12 is changed", 1}, {"r13 is changed", 1}},
		commonest([]string{
			"r12 is changed", "saved at offset 16", "r13 is changed", "saved at offset 24", "saved at offset 0x10",
		}),
	)
}
