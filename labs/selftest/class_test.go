package selftest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fiberlab/labs/catalogue"
	"fiberlab/labs/class"
	"fiberlab/labs/grade"
	"fiberlab/labs/hostile"
	"fiberlab/labs/machine"
	"fiberlab/labs/mutate"
	"fiberlab/labs/sandbox"
)

// students is how many a class has.
const students = 300

// handed is one submission of a class, and what must come of it.
type handed struct {
	write  func(dir string) error
	mutant *mutate.Mutant // nil if it is none
	reason string         // why the mutant is as right as the reference, or ""
	right  bool           // it is none, and gets full marks
	says   string         // what is said of one that is hostile: it gets no points
}

// A class of 300 for lab 02 or 08, as $FIBERLAB_CLASS says: the reference, the other solutions, 10 hostile submissions,
// and mutants drawn by $FIBERLAB_SEED. Two are graded at a time. Half-way, grade-all is killed, then started again. The
// gradebook must be right for each. Every tenth is then graded once more, and the gradebook must stay the same. The
// class stays in build/class-02, with its gradebook.
func TestClass(t *testing.T) {
	number := os.Getenv("FIBERLAB_CLASS")
	if number == "" {
		t.Skip("FIBERLAB_CLASS=02 or 08 runs this: it takes minutes")
	}
	if sandbox.Missing() != "" {
		t.Skip(sandbox.Missing()) // hostile submissions are among them
	}
	lab, err := catalogue.Find(number)
	require.NoError(t, err)
	s, seed := subject(lab, machine.Native()), drawn()
	work, err := filepath.Abs("../../build/class-" + number)
	require.NoError(t, err)
	require.NoError(t, os.RemoveAll(work))
	submissions, out := filepath.Join(work, "submissions"), filepath.Join(work, "out")
	all := s.class(t, rand.New(rand.NewPCG(seed, 0)))
	for name, h := range all {
		require.NoError(t, os.MkdirAll(filepath.Join(submissions, name), 0o700))
		require.NoError(t, h.write(filepath.Join(submissions, name)))
	}
	t.Setenv("TMPDIR", t.TempDir())
	program := filepath.Join(work, "labs")
	built, err := exec.Command("go", "build", "-o", program, "fiberlab/cmd/labs").CombinedOutput()
	require.NoError(t, err, string(built))

	began := time.Now()
	var processor time.Duration
	run := func(stop int) {
		c := exec.Command(program, "grade-all", number, submissions, "--out", out, "--jobs", "2", "--seed", "1")
		c.Stdout = os.Stdout
		progress, err := c.StderrPipe()
		require.NoError(t, err)
		require.NoError(t, c.Start())
		lines, done, said := bufio.NewScanner(progress), 0, ""
		for lines.Scan() {
			said = lines.Text()
			if done++; done == stop {
				require.NoError(t, c.Process.Kill())
			}
		}
		err = c.Wait()
		require.Equal(t, stop > 0, err != nil, "%v: %s", err, said)
		processor += c.ProcessState.UserTime() + c.ProcessState.SystemTime()
		t.Logf(
			"FIBERLAB_SEED=%d: lab %s, %d submissions, two at a time, after %d: %v elapsed, %v of processors", seed,
			number, len(all), done, time.Since(began).Round(time.Second), processor.Round(time.Second),
		)
	}
	run(students / 2)
	run(0)
	book := s.right(t, out, all)
	for i, name := range slices.Sorted(maps.Keys(all)) {
		if i%10 == 0 {
			require.NoError(t, os.Remove(filepath.Join(out, "students", name+".json")))
		}
	}
	run(0)
	require.Equal(t, book, s.right(t, out, all), "the gradebook is another one")
}

// class returns the submissions of a class, by the student.
func (s Subject) class(t *testing.T, random *rand.Rand) map[string]handed {
	t.Helper()
	all := map[string]handed{}
	folders, err := filepath.Glob(filepath.Join(s.Folder, "solutions", "*"))
	require.NoError(t, err)
	reference := filepath.Join(s.Folder, "reference")
	for _, folder := range append(folders, reference) {
		if s.has(folder) {
			all[filepath.Base(folder)] = handed{right: true, write: func(dir string) error {
				err := os.CopyFS(dir, os.DirFS(folder))
				if s.Lab.Examiner == nil || folder == reference { // a solution in assembly may be in fewer files
					return err
				}
				return errors.Join(err, fill(dir, reference))
			}}
		}
	}
	if s.Lab.Examiner != nil {
		for _, e := range hostile.ExploredSet(s.Lab.Number)[:10] {
			all["hostile "+e.Name] = handed{
				write: func(dir string) error { return e.Write(dir, "..") }, says: regexp.QuoteMeta(e.Says),
			}
		}
	} else {
		ten := []string{
			"attach", "constructor", "exit", "fill-disk", "fork", "kill-all", "link", "loop", "memory", "output",
		}
		for _, h := range hostile.Set() {
			if slices.Contains(ten, h.Name) {
				one := handed{write: func(dir string) error { return h.Write(dir, "..") }, says: h.Native}
				if h.Name == "link" {
					one.says = `hostile\.c is a symbolic link` // package class has its own sentence
				}
				all["hostile "+h.Name] = one
			}
		}
	}
	list, err := mutate.ReadEquivalents(filepath.Join(s.Folder, "equivalents.txt"))
	require.NoError(t, err)
	mutants, err := s.mutants(list)
	require.NoError(t, err)
	mutants = slices.DeleteFunc(mutants, func(m mutate.Mutant) bool { // of what is not handed in
		_, err := os.Stat(filepath.Join(reference, m.File))
		return err != nil
	})
	random.Shuffle(len(mutants), func(i, j int) { mutants[i], mutants[j] = mutants[j], mutants[i] })
	for i := 0; len(all) < students; i++ {
		m := mutants[i%len(mutants)]
		all[fmt.Sprintf("mutant %03d", i)] = handed{
			mutant: &m, reason: list.Reason(s.Arch.Name, m), write: func(dir string) error {
				text := []byte(m.Text)
				return errors.Join(os.WriteFile(filepath.Join(dir, m.File), text, 0o600), fill(dir, reference))
			},
		}
	}
	return all
}

// fill copies the files from a folder that dir lacks.
func fill(dir, from string) error {
	entries, err := os.ReadDir(from)
	for _, e := range entries {
		if _, missing := os.Stat(filepath.Join(dir, e.Name())); missing == nil {
			continue
		}
		text, failed := os.ReadFile(filepath.Join(from, e.Name()))
		err = errors.Join(err, failed, os.WriteFile(filepath.Join(dir, e.Name()), text, 0o600))
	}
	return err
}

// right checks the report of each submission, and that the gradebook has its points. It returns the gradebook.
func (s Subject) right(t *testing.T, out string, all map[string]handed) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(out, "gradebook.json"))
	require.NoError(t, err)
	var book class.Book
	require.NoError(t, json.Unmarshal(text, &book))
	require.Len(t, book.Students, len(all))
	var r Result
	for _, row := range book.Students {
		h, name := all[row.Student], row.Student
		var record class.Record
		report, err := os.ReadFile(filepath.Join(out, "students", name+".json"))
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(report, &record))
		require.NotNil(t, record.Report, record.Failed)
		require.Equal(t, record.Report.Points, row.Points, name)
		switch said := said(record.Report); {
		case h.right:
			require.True(t, record.Report.Full(), "%s: %v", name, said)
			r.Solutions++
		case h.mutant == nil:
			require.Zero(t, row.Items[0], name) // all that it does is in what this item calls
			require.True(t, s.Lab.Examiner != nil || row.Points == 0, name)
			if record.Report.Build != nil {
				said = append(said, record.Report.Build.Said...)
			}
			require.Regexp(t, h.says, strings.Join(said, "\n"), name)
		case record.Report.Full() && h.reason == "" && s.same(t, *h.mutant):
			r.SameCode++
		default:
			r.judge(*h.mutant, h.reason, record.Report)
		}
	}
	for _, m := range r.Misses {
		t.Error(m)
	}
	t.Log(r)
	table, err := os.ReadFile(filepath.Join(out, "gradebook.csv"))
	require.NoError(t, err)
	return string(text) + string(table)
}

// same reports whether a mutant compiles to the code of the reference.
func (s Subject) same(t *testing.T, m mutate.Mutant) bool {
	t.Helper()
	var report *grade.Report
	o := grade.Options{Arch: s.Arch, Dir: filepath.Join(s.Folder, "reference"), Seed: 1, ItemTime: itemTime}
	_, err := s.Lab.With(t.Context(), o, func(reference *grade.Bench) (*grade.Report, error) {
		w, err := newWorkshop(s, reference)
		if err != nil {
			return nil, err
		}
		report, err = w.examine(t.Context(), m, func(grade.Fault) bool { return false })
		return nil, err
	})
	require.NoError(t, err)
	return report == nil
}
