// Package class grades a class: a folder with the submission of each student. It writes a gradebook, a page a student,
// and a page for the class.
//
// What to read, in this order:
//
//	class.go     which submissions there are, and how all of them come to be graded
//	intake.go    how the files are taken from a folder, an archive or a git repository
//	book.go      the gradebook: points, which items fail how often, and why
//	likeness.go  which submissions have much in common
//	page.go      the pages
package class

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	_ "fiberlab/internal/platform/system" // ends a build for another system with one line
	"fiberlab/labs/grade"
	"fiberlab/labs/machine"
	"fiberlab/labs/sandbox"
)

// Options say what is graded, and where the results go.
type Options struct {
	Lab      *grade.Lab
	Arch     *machine.Arch
	Dir      string   // has a folder, an archive or a bare git repository of each student, by whose name it is called
	Out      string   // for the results: new, empty, or that of an earlier run
	Seed     *uint64  // of what is drawn, the same for all; nil: that of Out, or another one
	Emulator []string // as in machine.Options
	Jobs     int      // how many are graded at a time; 0: one a processor
	Weight   float64  // what the lab is worth in the course; 0: the gradebook does not say
	Late     grade.Late
	Times    map[string]time.Time // when each student has handed in
	// Progress is told of each submission that is graded. It may be nil. One goroutine calls it at a time.
	Progress func(done, of int, r *Record)
}

// Record is what became of one submission. Exactly one of Report and Failed is set.
type Record struct {
	Student string        `json:"student"`
	From    string        `json:"from"`   // its name in the folder of the submissions
	Files   string        `json:"files"`  // the digest of what was handed in
	Report  *grade.Report `json:"report"` // without points if the submission cannot be taken or built
	Failed  string        `json:"failed,omitempty"`
	prints  fingerprints
}

// settings are what the run that began a folder of results was told. Another run that differs would mix two
// examinations.
type settings struct {
	Dir      string         `json:"dir"` // with the submissions: its absolute path, without links
	Lab      string         `json:"lab"`
	Arch     string         `json:"arch"`
	Seed     uint64         `json:"seed"`
	Points   map[string]int `json:"points"`   // by the item
	Compiler string         `json:"compiler"` // its command and version
	Emulator string         `json:"emulator"` // its command
	Grader   string         `json:"grader"`   // the digest of the program, and of the lab if it is a teacher's own
}

// archives are the endings of archives. Not all can be read: the others get a report that says what to do.
var archives = []string{
	".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz", ".tbz2", ".tar.xz", ".txz", ".tar.zst", ".tzst", ".7z", ".rar",
	".git",
}

// Submissions returns the names in the folder dir that are submissions, by the student: the name without the ending of
// an archive. skipped are the other names that are not hidden, each with the reason. Two submissions of one student are
// an error.
func Submissions(dir string) (byStudent map[string]string, skipped []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("the folder of the submissions: %w", err)
	}
	byStudent = map[string]string{}
	for _, e := range entries {
		name := e.Name()
		student := name
		for _, ending := range archives {
			if stem := len(name) - len(ending); stem > 0 && strings.EqualFold(name[stem:], ending) {
				student = name[:stem]
			}
		}
		switch other, twice := byStudent[student]; {
		case strings.HasPrefix(name, "."):
		case name == "__MACOSX":
			skipped = append(skipped, name+": a Mac has put it beside what it packed")
		case !utf8.ValidString(name):
			skipped = append(skipped, name+": its name is not UTF-8: rename it")
		case e.Type().IsRegular() && student == name:
			skipped = append(skipped, name+": it is neither a folder nor an archive")
		case len(student) > longestName:
			return nil, nil, fmt.Errorf("%s: the name %s is longer than %d bytes: rename it", dir, name, longestName)
		case twice:
			return nil, nil, fmt.Errorf("%s: both %s and %s are of %s: keep one of them", dir, other, name, student)
		default:
			byStudent[student] = name
		}
	}
	if len(byStudent) == 0 {
		return nil, nil, fmt.Errorf("%s has no submissions: it needs a folder or an archive for each student", dir)
	}
	return byStudent, skipped, nil
}

// Grade grades all submissions that o.Out has no record of yet, or of other files, and writes the gradebook and the
// pages. The records are written one by one. So a call that was interrupted, or killed, is taken up by the next one.
// The error is for what no submission is at fault for.
func Grade(ctx context.Context, o Options) (*Book, error) {
	students, _, err := Submissions(o.Dir)
	if err != nil {
		return nil, err
	}
	if o.Dir, err = o.apart(); err != nil {
		return nil, err
	}
	if _, err := sandbox.Compiler(o.Arch); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.Out, 0o700); err != nil {
		return nil, fmt.Errorf("--out: %w: choose a new folder", err)
	}
	lock, err := os.Open(o.Out)
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	// A child that a run was just starting when it was killed has the lock until it executes its program.
	for began := time.Now(); unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil; time.Sleep(time.Millisecond) {
		if time.Since(began) > 2*time.Second || ctx.Err() != nil {
			return nil, fmt.Errorf("%s: another run grades into it: wait for its end", o.Out)
		}
	}
	seed, err := o.settle()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(o.Out, "students"), 0o700); err != nil {
		return nil, err
	}
	var lockDone sync.Mutex
	done := 0
	all := make([]*Record, len(students))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(o.Jobs, 0))
	if o.Jobs <= 0 {
		group.SetLimit(runtime.NumCPU())
	}
	for i, student := range slices.Sorted(maps.Keys(students)) {
		group.Go(func() (err error) {
			if all[i], err = o.one(ctx, student, students[student], seed); err != nil {
				return err
			}
			lockDone.Lock()
			defer lockDone.Unlock()
			if done++; o.Progress != nil {
				o.Progress(done, len(students), all[i])
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	b := newBook(o, seed, all)
	return b, b.write(o.Out)
}

// apart checks that results are not written among the submissions, nor the other way round. It returns the path of the
// folder with the submissions as settings have it.
func (o Options) apart() (string, error) {
	dir, err := resolved(o.Dir)
	if err != nil {
		return "", err
	}
	out, err := resolved(o.Out)
	if err != nil {
		return "", fmt.Errorf("--out: %w: choose a new folder", err)
	}
	if dir == out || strings.HasPrefix(out, dir+"/") || strings.HasPrefix(dir, out+"/") {
		return "", fmt.Errorf("--out %s: choose a folder that is apart from the submissions in %s", o.Out, o.Dir)
	}
	return dir, nil
}

// resolved is the absolute path without links of what may not exist yet.
func resolved(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, os.ErrNotExist) && path != "/" {
		real, err = resolved(filepath.Dir(path))
		real = filepath.Join(real, filepath.Base(path))
	}
	return real, err
}

// settle writes the settings into a new folder of results, or compares those that are there, and returns the seed.
func (o Options) settle() (uint64, error) {
	program, err := os.Executable()
	if err != nil {
		return 0, err
	}
	grader, err := graderDigest(program, o.Lab)
	if err != nil {
		return 0, err
	}
	compiler, err := sandbox.CompilerVersion(o.Arch)
	if err != nil {
		return 0, err
	}
	want := settings{
		Dir: o.Dir, Lab: o.Lab.Number, Arch: o.Arch.Name, Points: map[string]int{}, Compiler: compiler,
		Emulator: strings.Join(o.Emulator, " "), Grader: grader,
	}
	for _, item := range o.Lab.ItemsOn(o.Arch) {
		want.Points[item.Name] = item.Points
	}
	path := filepath.Join(o.Out, "settings.json")
	var have settings
	switch text, err := os.ReadFile(path); {
	case err == nil:
		if err := json.Unmarshal(text, &have); err != nil {
			return 0, fmt.Errorf("%s: %w: remove the folder, or choose another one for --out", path, err)
		}
		want.Seed = have.Seed
		if o.Seed != nil {
			want.Seed = *o.Seed
		}
		if a, b := encode(want), encode(have); !bytes.Equal(a, b) {
			return 0, fmt.Errorf(
				"%s was begun with another folder of submissions, lab, architecture, seed, points, compiler, "+
					"emulator or build of the grader (settings.json): choose another folder for --out", o.Out,
			)
		}
		return want.Seed, nil
	case !errors.Is(err, os.ErrNotExist):
		return 0, err
	}
	entries, err := os.ReadDir(o.Out)
	if err != nil {
		return 0, err
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".new-") { // what a run that was killed at once has left
			return 0, fmt.Errorf("%s has other files (%s): choose another folder for --out", o.Out, e.Name())
		}
	}
	if want.Seed = grade.NewSeed(); o.Seed != nil {
		want.Seed = *o.Seed
	}
	return want.Seed, replace(path, encode(want))
}

// one returns the record of a submission. It grades what has none.
func (o Options) one(ctx context.Context, student, from string, seed uint64) (r *Record, err error) {
	path := filepath.Join(o.Out, "students", student+".json")
	defer func() {
		if p := recover(); p != nil { // of the grader, by what this submission has: the others are graded all the same
			failed := fmt.Sprintf("the grader failed: %v\n%s", p, debug.Stack())
			r = &Record{Student: student, From: from, Failed: failed}
			err = replace(path, encode(r))
		}
	}()
	files, refused := read(ctx, filepath.Join(o.Dir, from), o.Lab, o.Arch)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	r = &Record{Student: student, From: from, Files: digest(files, refused), prints: fingerprintsOf(files)}
	if text, err := os.ReadFile(path); err == nil {
		var before Record
		if json.Unmarshal(text, &before) == nil && before.Files == r.Files && before.Report != nil {
			before.prints = fingerprintsOf(files)
			return &before, nil
		}
	}
	switch {
	case errors.Is(refused, sandbox.ErrSubmission):
		r.Report = o.Lab.Unbuilt(o.Arch, seed, []string{refused.Error()})
	case refused != nil:
		r.Failed = refused.Error()
	default:
		if r.Report, err = o.grade(ctx, files, seed); ctx.Err() != nil {
			return nil, ctx.Err()
		} else if err != nil {
			r.Report, r.Failed = nil, err.Error()
		}
	}
	return r, replace(path, encode(r))
}

// patience is by how much the time limit of an item grows. Other submissions are graded at the same time, and points
// must not depend on them.
const patience = 5

// Alone grades one submission, at path, as Grade does with each, and keeps no record. o.Dir and o.Out do not count. The
// path is the caller's, not the submission's: it may be a link.
func Alone(ctx context.Context, o Options, path string, seed uint64) (*grade.Report, error) {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, fmt.Errorf("the submission: %w: name a folder, an archive or a bare git repository", err)
	}
	files, err := read(ctx, path, o.Lab, o.Arch)
	if errors.Is(err, sandbox.ErrSubmission) {
		return o.Lab.Unbuilt(o.Arch, seed, []string{err.Error()}), nil
	}
	if err != nil {
		return nil, err
	}
	return o.grade(ctx, files, seed)
}

// grade grades files, from a folder of their own.
func (o Options) grade(ctx context.Context, files map[string][]byte, seed uint64) (r *grade.Report, err error) {
	dir, err := os.MkdirTemp("", "fiberlab-class-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			return nil, err
		}
	}
	return o.Lab.Grade(ctx, grade.Options{
		Arch: o.Arch, Dir: dir, Seed: seed, Emulator: o.Emulator,
		ItemTime: patience * cmp.Or(o.Lab.ItemTime, grade.ItemTime),
	})
}

// digest identifies files by their names and contents, or the reason why a submission has none.
func digest(files map[string][]byte, refused error) string {
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(sum, "%q %d %s", name, len(files[name]), files[name])
	}
	if refused != nil {
		fmt.Fprint(sum, refused)
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// graderDigest identifies the grader, at the path program. A lab of a teacher's own is no part of the program: what
// grades by it counts too.
func graderDigest(program string, lab *grade.Lab) (string, error) {
	paths := map[string]string{"": program}
	if lab.Folder != "" {
		tests, err := os.ReadDir(filepath.Join(lab.Folder, "tests"))
		if err != nil {
			return "", err
		}
		names := slices.Concat([]string{grade.OwnFile}, lab.Fixed, lab.Given)
		for _, e := range tests {
			if e.Type().IsRegular() {
				names = append(names, filepath.Join("tests", e.Name()))
			}
		}
		for _, name := range names {
			paths[name] = filepath.Join(lab.Folder, name)
		}
	}
	files := map[string][]byte{}
	for name, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		files[name] = text
	}
	return digest(files, nil), nil
}

// encode is v as JSON for people and programs.
func encode(v any) []byte {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // all numbers here are finite: grade.ReadPoints refuses others
	}
	return text.Bytes()
}

// replace writes a file so that another process, also one that starts after this one was killed, sees all of it or
// what was there before. Only its owner may read it: it has the students' points.
func replace(path string, text []byte) error {
	file, err := os.CreateTemp(filepath.Dir(path), ".new-")
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err = errors.Join(err, file.Sync(), file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		os.Remove(file.Name())
	}
	return err
}
