// Package grade builds what a student has written, examines it from outside, and gives points.
//
// How a submission is examined is up to the lab's Examiner. In most labs it is linked with a harness that does nothing
// but stand still (harness.c), and runs confined. The grader controls the program by package machine. It fills
// registers and memory with values that it has drawn for this run, and calls the submission's functions one instruction
// at a time. Then it reads registers and memory. So there is no report that a submission could forge. Its output and
// its exit status count nothing.
package grade

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"fiberlab/labs"
	"fiberlab/labs/machine"
	"fiberlab/labs/record"
)

// Lab is a lab as the grader knows it.
type Lab struct {
	Number string // "02": the name of its folder in labs
	Title  string
	Arches []*machine.Arch   // on which it is done
	Needs  []string          // the symbols that a submission must define
	May    []string          // the symbols of the C library that a submission may use; others are refused by name
	Calls  []string          // the system calls that a submission may make in an emulator, besides callsOfAll
	Items  []Item            // the same on all architectures, or nil
	ByArch map[string][]Item // else those of each architecture, by its name
	// Show records what the lab is about for a reader, one recording after the other.
	// It is nil if there is nothing to step through.
	Show     func(context.Context, *Bench) ([]*record.Recording, error)
	Harness  map[string]string // sources of the grader that are linked along with harness.c: their text by their name
	Flags    []string          // more flags for the compiler
	Examiner Examiner          // nil: submissions stand still, with Harness around
	Handout  string            // the file with the sections, in the lab's folder
	ItemTime time.Duration     // how long an item may take; 0: ItemTime, up to five times that on a busy machine
	AtOnce   int               // so many items are examined at a time, if none uses Shared or Measure; 0: one
	Sources  []string          // the patterns of what is handed in: "*.S", "*.c", "*.h"
	Beside   []string          // files that match Sources and are not handed in: programs to measure with
	// Files of the lab's folder; or of labs, if a folder is named, as in swap/context.c. A fixed one replaces the
	// submission's file. A given one is there if the submission has no file of that name; a source among these is linked
	// if something needs what it defines, as a library is.
	Fixed, Given []string
	Folder       string // of a lab of a teacher's own; empty: labs/NN, as it was when the grader was built
}

// OwnFile is the file by which a folder is a lab of a teacher's own (labs/own.md).
const OwnFile = "lab.toml"

// Home is the folder of the lab, as a reader names it.
func (l *Lab) Home() string {
	if l.Folder != "" {
		return l.Folder
	}
	return "labs/" + l.Number
}

// File returns one of the files Fixed and Given.
func (l *Lab) File(name string) ([]byte, error) {
	if l.Folder != "" {
		return os.ReadFile(filepath.Join(l.Folder, name))
	}
	if path.Dir(name) == "." {
		name = l.Number + "/" + name
	}
	text, err := labs.Sources.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("this copy of fiberlab does not have lab %s: %w", l.Number, err)
	}
	return text, nil
}

// Tests returns the folder of the lab's scenarios.
func (l *Lab) Tests() (fs.FS, error) {
	if l.Folder != "" {
		return os.DirFS(filepath.Join(l.Folder, "tests")), nil
	}
	return fs.Sub(labs.Scenarios, l.Number+"/tests")
}

// Item is what gets points: all of them, or none.
type Item struct {
	Name    string
	Points  int
	Section string // of the handout: "2.3"
	// Check examines the submission. Faults are what is wrong with the submission; an error means that the check itself
	// could not be made.
	Check func(context.Context, *Bench) ([]Fault, error)
}

// Fault is one thing that is wrong with a submission.
type Fault struct {
	Text    string        `json:"text"`    // "r12 comes back changed: saved at offset 16, loaded from 24"
	Section string        `json:"section"` // of the handout
	Place   machine.Place `json:"place"`   // the instruction at fault, if it is known
	// Of a fault that a schedule shows: that schedule, its steps, and the functions that were called after the last one.
	Schedule string   `json:"schedule,omitempty"`
	Steps    []Step   `json:"steps,omitempty"`
	Entered  []string `json:"entered,omitempty"`
}

// Where is the fault's place as the end of a sentence: " (swap.S:14)". It is empty if Text names the place, or none is
// known.
func (f Fault) Where() string {
	if f.Place.File == "" {
		return ""
	}
	where := f.Place.File[strings.LastIndexByte(f.Place.File, '/')+1:]
	if f.Place.Line > 0 {
		where += fmt.Sprintf(":%d", f.Place.Line)
	}
	if regexp.MustCompile(regexp.QuoteMeta(where) + `\b`).MatchString(f.Text) {
		return ""
	}
	return " (" + where + ")"
}

// Step is a step of a schedule.
type Step struct {
	Thread   int           `json:"thread"`
	Place    machine.Place `json:"place"`
	Source   string        `json:"source"`   // the line
	Does     string        `json:"does"`     // "reads flag = 1 (acquire)"
	Preempts bool          `json:"preempts"` // the thread of the step before could have gone on
	// Callers are where the functions around it were called, in the submission and in the test, the innermost first.
	Callers []machine.Place `json:"callers,omitempty"`
	// Entered are the functions that the thread has called since its last step, in their order.
	Entered []string `json:"entered,omitempty"`
}

// Examiner is a way to examine submissions.
type Examiner interface {
	// Prepare builds what was handed in, and returns the bench that the checks of the lab's items work with. Grade and
	// With fill in Arch, Dir and what is drawn. A *sandbox.BuildError says that the submission is at fault; other
	// errors say that it could not be tried.
	Prepare(context.Context, *Lab, *Submission, Options) (*Bench, error)
}

// Bench is what a check works with: the submission, built, and the values drawn for this run.
type Bench struct {
	Arch     *machine.Arch
	Program  *machine.Program // nil where the lab's Examiner makes others of Objects
	Objects  []string         // the paths of the submission's objects
	Flags    []string         // by which these were compiled
	Built    any              // what else the lab's Examiner has built for the items
	Warnings []string         // of the compiler, the first few
	Dir      string           // where the copy of what was handed in is
	Work     string           // a folder for what is built
	Seed     uint64           // of what is drawn
	Random   *rand.Rand       // drawn from Seed, anew for each item
	Options  machine.Options  // how the program is started
	Trusted  bool             // the submission does not lie: what its program prints need not be seen from outside
	// Schedules is how many schedules of an item are tried at most; 0: as many as the item has.
	Schedules int
	shared    map[string]any
	figures   []Figure
	itemTime  time.Duration
	last      *Trouble // the last that there was
}

// Measure has a figure appear in the report.
func (b *Bench) Measure(name string, value float64, unit string) {
	b.figures = append(b.figures, Figure{name, value, unit})
}
