// Package selftest grades the grader: by programs of which it is known what a grader must say.
//
// The reference of each lab, and each of the other solutions, must get full marks. Each mutant of the reference
// (package mutate) must lose points, and the report must name the register or the step that is wrong. Excepted are
// those that the lab's list of equivalents calls right, with a reason. What is handed out must get few points.
//
// What to read, in this order:
//
//	subject.go   what is examined, and what comes out
//	mutants.go   the mutants of a lab
//	bench.go     building them quickly
//	code.go      whether a mutant is another program at all
//	verdict.go   whether a report is what it should be
package selftest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	_ "fiberlab/internal/platform/system"
	"fiberlab/labs/grade"
	"fiberlab/labs/machine"
)

// Subject is a lab on one architecture.
type Subject struct {
	Lab    *grade.Lab
	Arch   *machine.Arch
	Folder string // of the lab: reference, solutions and equivalents.txt are in it, and what is handed out
}

func (s Subject) String() string { return "lab " + s.Lab.Number + " " + s.Arch.Name }

// Options say how a subject is examined.
type Options struct {
	Seed     uint64
	Emulator []string // as in machine.Options
	AtOnce   int      // how many programs are examined at the same time
	Every    int      // examine one mutant of so many: 1 for all
	First    int      // of Every: which one is examined first, from 0
	// Schedules is how many schedules of an item are tried in an emulator, of a solution other than the reference; 0: as
	// many as the item has.
	Schedules int
	// Trusting leaves out, for all solutions but the reference and one that First draws, to see from outside what
	// programs of the explorer print.
	Trusting bool
	// Progress is told how many of the mutants are done. It may be nil, and is called by one goroutine at a time.
	Progress func(done, of int)
}

// Result is what an examination found.
type Result struct {
	Mutants    int // that assemble or compile
	Caught     int // that lost points, with a diagnosis that names what is wrong
	Equivalent int // that got full marks, as listed
	First      int // of Caught: the first sentence about an item names what is wrong
	SameCode   int // that compile to the same code as the reference, and are not counted elsewhere
	Unbuilt    int // mutants that neither assemble nor compile, and so are none
	Solutions  int // other solutions at full marks
	Misses     []Miss
}

// Miss is something that the grader should have said otherwise.
type Miss struct {
	What string   // the mutant or the folder
	Why  string   // what is wrong with the grader's report
	Said []string // the faults in the report
}

func (m Miss) String() string {
	said := "it said nothing"
	if len(m.Said) > 0 {
		said = "it said:\n        " + strings.Join(m.Said, "\n        ")
	}
	return fmt.Sprintf("%s\n    %s; %s", m.What, m.Why, said)
}

// Add counts the other result in, too.
func (r *Result) Add(other Result) {
	r.Mutants += other.Mutants
	r.Caught += other.Caught
	r.Equivalent += other.Equivalent
	r.First += other.First
	r.SameCode += other.SameCode
	r.Unbuilt += other.Unbuilt
	r.Solutions += other.Solutions
	r.Misses = append(r.Misses, other.Misses...)
}

// String is the result in one line.
func (r Result) String() string {
	text := fmt.Sprintf(
		"%d mutants, %d caught (%d by the first sentence about an item), %d equivalent as listed, "+
			"%d other solutions at full marks",
		r.Mutants, r.Caught, r.First, r.Equivalent, r.Solutions,
	)
	if r.SameCode > 0 {
		text += fmt.Sprintf(", %d more are the same code", r.SameCode)
	}
	if r.Unbuilt > 0 {
		text += fmt.Sprintf(", %d more do not build", r.Unbuilt)
	}
	if len(r.Misses) > 0 {
		text += fmt.Sprintf(", %d MISSES", len(r.Misses))
	}
	return text
}

// Solutions grades the reference and all other solutions, which must get full marks.
func (s Subject) Solutions(ctx context.Context, o Options) (Result, error) {
	var r Result
	folders, err := filepath.Glob(filepath.Join(s.Folder, "solutions", "*"))
	if err != nil {
		return r, err
	}
	folders = slices.DeleteFunc(
		append(folders, filepath.Join(s.Folder, "reference")), func(folder string) bool { return !s.has(folder) },
	)
	reports := make([]*grade.Report, len(folders))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(o.AtOnce, 1))
	for i, folder := range folders {
		o := o
		o.Trusting = o.Trusting && i != o.First%len(folders)
		group.Go(func() (err error) {
			if reports[i], err = s.grade(ctx, o, folder); err != nil {
				err = fmt.Errorf("%s: %w", folder, err)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return r, err
	}
	for i, report := range reports {
		switch {
		case !report.Full():
			r.miss(folders[i], fmt.Sprintf("it is right, but got %d points of %d", report.Points, report.Of), report)
		case filepath.Base(folders[i]) != "reference":
			r.Solutions++
		}
	}
	return r, nil
}

// Skeleton grades what is handed out. It must build, get few points, and be told what is missing.
func (s Subject) Skeleton(ctx context.Context, o Options) (Result, error) {
	var r Result
	report, err := s.grade(ctx, o, s.Folder)
	if err != nil {
		return r, fmt.Errorf("%s: %w", s.Folder, err)
	}
	switch {
	case report.Build != nil && report.Build.Failed:
		r.miss(s.Folder, "what is handed out does not build: "+strings.Join(report.Build.Said, " "), report)
	case report.Points > report.Of/4:
		r.miss(s.Folder, fmt.Sprintf("what is handed out gets %d points of %d", report.Points, report.Of), report)
	case len(said(report)) == 0:
		r.miss(s.Folder, "nothing is said of what is handed out", report)
	}
	return r, nil
}

// has reports whether a folder holds a submission for the subject's architecture.
func (s Subject) has(folder string) bool {
	entries, err := os.ReadDir(folder)
	return err == nil && slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		name := e.Name()
		return s.Lab.HandedIn(name) && filepath.Ext(name) != ".h" && s.Lab.Takes(s.Arch, name)
	})
}

// rest are the folders that complete the one with a solution.
func (s Subject) rest(folder string) []string {
	if filepath.Base(filepath.Dir(folder)) == "solutions" {
		return []string{filepath.Join(s.Folder, "reference")}
	}
	return nil
}

// itemTime is how long the examination of an item may take on a busy machine, of what ends by itself.
const itemTime = 10 * time.Minute

// grade grades what is in a folder. What programs of the explorer print is seen from outside, too. In an emulator that
// takes most of the time, so there it is done for the reference alone.
func (s Subject) grade(ctx context.Context, o Options, folder string) (*grade.Report, error) {
	options := grade.Options{
		Arch: s.Arch, Dir: folder, Rest: s.rest(folder), Seed: o.Seed, Emulator: o.Emulator, ItemTime: itemTime,
	}
	watched := s.Arch == machine.Native() && !o.Trusting || filepath.Base(folder) == "reference"
	if s.Lab.Examiner == nil || watched {
		return s.Lab.Grade(ctx, options)
	}
	return s.Lab.With(ctx, options, func(b *grade.Bench) (*grade.Report, error) {
		b.Trusted, b.Schedules = true, o.Schedules
		return s.Lab.Examine(ctx, b, nil)
	})
}

func (r *Result) miss(what, why string, report *grade.Report) {
	r.Misses = append(r.Misses, Miss{what, why, said(report)})
}

// said are the faults of a report, in its order.
func said(report *grade.Report) []string {
	var all []string
	for _, fault := range faults(report) {
		text := fault.Text
		if fault.Place.File != "" {
			text += fmt.Sprintf(" (%s:%d)", filepath.Base(fault.Place.File), fault.Place.Line)
		}
		all = append(all, text)
	}
	return all
}

func faults(report *grade.Report) []grade.Fault {
	var all []grade.Fault
	for _, item := range report.Items {
		all = append(all, item.Faults...)
	}
	return all
}
