package grade

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"fiberlab/labs/machine"
	"fiberlab/labs/sandbox"
)

//go:embed harness/harness.c harness/between.S
var harness embed.FS

// Link returns flags by which the linker places the harness's memory and places above 4 GB. So a register that keeps
// only the lower half of an address is noticed. On arm64 the rest of the program lies next to them. Qemu keeps a record
// for each page between a program's lowest and its highest, and reads all of these records at each step. On amd64 code
// and data have addresses of 32 bits.
func Link(a *machine.Arch) []string {
	if a == machine.ARM64 {
		return []string{
			"-Wl,-Ttext-segment=0x300000000,--section-start=.lab_places=0x301000000,--section-start=.lab_memory=0x301100000",
		}
	}
	return []string{"-Wl,--section-start=.lab_places=0x100000000,--section-start=.lab_memory=0x101000000"}
}

// Options say what is graded, and how.
type Options struct {
	Arch *machine.Arch
	Dir  string // the folder with what is handed in
	// Rest are folders with what Dir leaves out, for a solution of the project's own. A file that Dir lacks is taken
	// from the first of them that has it, as if it were given. A student's submission has none.
	Rest     []string
	Seed     uint64         // of what is drawn
	Emulator []string       // as in machine.Options
	Progress func(done int) // told how many items are done; may be nil
	ItemTime time.Duration  // how long the examination of one item may take; 0: the lab's
}

// Grade builds what lies in o.Dir, examines it and returns the report. A submission that does not build, or cannot be
// taken, gets a report without points. The error is for what is not the submission's fault: a missing compiler,
// emulator or permission. It makes a temporary folder, which it removes.
func (l *Lab) Grade(ctx context.Context, o Options) (*Report, error) {
	r, err := l.With(ctx, o, func(b *Bench) (*Report, error) { return l.Examine(ctx, b, o.Progress) })
	var failed *sandbox.BuildError
	switch {
	case errors.As(err, &failed):
		return l.Unbuilt(o.Arch, o.Seed, strings.Split(strings.TrimSpace(failed.Error()+"\n"+failed.More), "\n")), nil
	case errors.Is(err, sandbox.ErrSubmission):
		return l.Unbuilt(o.Arch, o.Seed, []string{err.Error()}), nil
	}
	return r, err
}

// With builds what lies in o.Dir and calls use with a bench for it. It returns the errors of use and of the build,
// and errors that wrap sandbox.ErrSubmission. It makes a temporary folder, which it removes when use returns.
func (l *Lab) With(ctx context.Context, o Options, use func(*Bench) (*Report, error)) (r *Report, err error) {
	err = l.take(o, func(s *Submission) error {
		var examiner Examiner = standing{}
		if l.Examiner != nil {
			examiner = l.Examiner
		}
		b, err := examiner.Prepare(ctx, l, s, o)
		if failed := new(sandbox.BuildError); errors.As(err, &failed) && s.Remark != "" {
			remarked := *failed // the error may be one for all submissions
			remarked.More = strings.TrimSpace(failed.More + "\n" + s.Remark)
			err = &remarked
		}
		if err != nil {
			return err
		}
		b.Arch, b.Dir, b.Work, b.Seed, b.itemTime = o.Arch, s.Dir, s.Work, o.Seed, cmp.Or(o.ItemTime, l.ItemTime)
		r, err = use(b)
		if missing := sandbox.Missing(); r != nil && missing != "" {
			r.Remarks = append(r.Remarks, "this machine confines submissions in part: "+missing)
		}
		if r != nil && s.Remark != "" {
			r.Remarks = append(r.Remarks, s.Remark)
		}
		if r != nil && len(b.Warnings) > 0 {
			r.Build = &BuildReport{Said: b.Warnings}
		}
		return err
	})
	return r, err
}

// Submission is what was handed in, copied.
type Submission struct {
	Dir   string   // of the copies
	Names []string // of the files in it that belong to the lab on this architecture, sorted
	Given []string // of the files that were put beside them, which are linked if something needs them
	Work  string   // a folder for what is built
	// Remark says which files were replaced by the lab's; empty: none was, or they were the same.
	Remark string
}

// take copies what lies in o.Dir and calls use with the copy, which it removes when use returns. It returns the errors
// of use, and errors that wrap sandbox.ErrSubmission.
func (l *Lab) take(o Options, use func(*Submission) error) (err error) {
	if err := l.On(o.Arch); err != nil {
		return err
	}
	if _, err := os.ReadDir(o.Dir); err != nil {
		return fmt.Errorf("the folder of the submission: %w", err)
	}
	work, err := os.MkdirTemp("", "fiberlab-grade-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	s := &Submission{Dir: filepath.Join(work, "submission"), Work: filepath.Join(work, "objects")}
	if err := errors.Join(os.Mkdir(s.Dir, 0o700), os.Mkdir(s.Work, 0o700)); err != nil {
		return err
	}
	names, err := sandbox.Collect(o.Dir, l.Sources, s.Dir)
	if err != nil {
		return err
	}
	s.Names = slices.DeleteFunc(names, func(name string) bool { return !l.Takes(o.Arch, name) })
	if len(s.Names) == 0 {
		return fmt.Errorf(
			"%s has no file for lab %s on %s: it needs some of %s", o.Dir, l.Number, o.Arch.Name,
			strings.Join(l.Sources, ", "),
		)
	}
	for _, dir := range o.Rest {
		if err := l.fill(o.Arch, s, dir); err != nil {
			return err
		}
	}
	if err := l.give(o.Arch, s); err != nil {
		return err
	}
	return use(s)
}

// fill puts the files of the folder dir that belong to the lab, and that a submission lacks, into its folder.
func (l *Lab) fill(a *machine.Arch, s *Submission, dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("the folder with the rest of the solution: %w", err)
	}
	for _, e := range entries {
		path := filepath.Join(s.Dir, e.Name())
		if _, err := os.Stat(path); err == nil || !l.HandedIn(e.Name()) || !l.Takes(a, e.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return err
		}
		if filepath.Ext(e.Name()) != ".h" {
			s.Given = append(s.Given, e.Name())
		}
	}
	return nil
}

// HandedIn reports whether a file of that name is handed in.
func (l *Lab) HandedIn(file string) bool {
	return slices.ContainsFunc(l.Sources, func(pattern string) bool {
		ok, _ := filepath.Match(pattern, file)
		return ok
	})
}

// give puts the lab's own files into the folder of a submission.
func (l *Lab) give(a *machine.Arch, s *Submission) error {
	var replaced []string
	for _, file := range slices.Concat(l.Fixed, l.Given) {
		text, err := l.File(file)
		if err != nil {
			return err
		}
		name := filepath.Base(file)
		path := filepath.Join(s.Dir, name)
		own, err := os.ReadFile(path)
		switch {
		case err != nil:
			if filepath.Ext(name) != ".h" && l.Takes(a, name) {
				s.Given = append(s.Given, name)
			}
		case bytes.Equal(own, text) || !slices.Contains(l.Fixed, file):
			continue
		default:
			replaced = append(replaced, name)
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return err
		}
	}
	if replaced != nil {
		s.Remark = fmt.Sprintf("graded with the lab's own %s, since yours differs: %s is given",
			strings.Join(replaced, " and "), replaced[0])
	}
	return nil
}

// standing examines a submission in a program that does nothing but stand still (harness.c).
type standing struct{}

// Prepare links the submission with harness.c and what else the lab has in Harness.
func (standing) Prepare(ctx context.Context, l *Lab, s *Submission, o Options) (*Bench, error) {
	sources := maps.Clone(l.Harness)
	if sources == nil {
		sources = map[string]string{}
	}
	sources["harness.c"] = harnessText("harness.c")
	b, err := l.link(ctx, o.Arch, s, sources)
	if err != nil {
		return nil, err
	}
	b.Options = machine.Options{
		Emulator: o.Emulator, Calls: slices.Concat(callsOfAll, l.Calls),
		Wrap: func(argv []string) []string { return sandbox.Wrap(argv, sandbox.Limits{}) },
	}
	return b, nil
}

// Build builds what lies in o.Dir with the sources of a harness around it, their text by their name, and calls use with
// the program. It makes a temporary folder, which it removes when use returns. It returns the errors of use, a
// *sandbox.BuildError, errors that wrap sandbox.ErrSubmission, and what is not the submission's fault.
func (l *Lab) Build(
	ctx context.Context, o Options, around map[string]string, use func(*machine.Program) error,
) (err error) {
	return l.take(o, func(s *Submission) error {
		b, err := l.link(ctx, o.Arch, s, around)
		if err != nil {
			return err
		}
		return use(b.Program)
	})
}

// link makes a program of a submission and of the sources around it.
func (l *Lab) link(ctx context.Context, a *machine.Arch, s *Submission, around map[string]string) (*Bench, error) {
	sources := maps.Clone(around)
	sources[Between] = harnessText(Between)
	built, err := sandbox.Build(
		ctx,
		sandbox.BuildOptions{
			Arch: a, Dir: s.Dir, Sources: s.Names, Given: s.Given, Harness: sources, Between: Between, Work: s.Work,
			Flags: l.Flags, Link: Link(a), Calls: l.Needs, May: l.May,
		},
	)
	if err != nil {
		return nil, err
	}
	program, err := machine.Open(built.Path)
	if file := new(fs.PathError); err != nil && !errors.As(err, &file) {
		return nil, &sandbox.BuildError{
			Text: "what it makes cannot be read: " + strings.ReplaceAll(err.Error(), built.Path, "the program"),
		}
	}
	if err != nil {
		return nil, err
	}
	for _, name := range l.Needs {
		if _, err := program.Symbol(name); err != nil {
			return nil, &sandbox.BuildError{
				Text: fmt.Sprintf("nothing defines %s: the lab needs it (%s)", name, l.Handout),
			}
		}
	}
	return &Bench{Program: program, Objects: built.Objects, Flags: l.Flags, Warnings: built.Warnings}, nil
}

// callsOfAll are system calls that touch the program alone, as abort and the C library's ucontext make them. No
// submission makes any other in an emulator, where it could reach what the grader looks through: only those that its
// lab is about.
var callsOfAll = []string{
	"rt_sigprocmask", "rt_sigaction", "rt_sigreturn", "getpid", "gettid", "tgkill", "exit", "exit_group",
}

// Takes reports whether a file that matches l.Sources is built on a.
func (l *Lab) Takes(a *machine.Arch, file string) bool {
	return !slices.Contains(l.Beside, file) && a.Takes(file)
}

// Between is the harness's source that keeps the submission's objects apart.
const Between = "between.S"

// harnessText is the text of a source of the harness.
func harnessText(name string) string {
	text, err := harness.ReadFile("harness/" + name)
	if err != nil {
		panic(err) // it is part of this program
	}
	return string(text)
}
