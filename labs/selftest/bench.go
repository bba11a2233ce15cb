package selftest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"fiberlab/labs/grade"
	"fiberlab/labs/machine"
	"fiberlab/labs/mutate"
	"fiberlab/labs/sandbox"
)

// workshop makes programs of mutants: only the file that differs is compiled, and linked with the objects of the
// reference. The sources are the project's own, so the compiler need not be confined.
type workshop struct {
	subject   Subject
	compiler  []string
	reference *grade.Bench // built, with its sources in Dir and its objects beside the program
	objects   []string     // of the reference and of the harness, without between
	between   string       // the object that is linked behind each of a submission's
	joining   sync.Mutex
	// by the source that is left out: one object of all others and of what they use of the C library
	joined map[string]string
	habits habits
}

func newWorkshop(s Subject, reference *grade.Bench) (*workshop, error) {
	compiler, err := sandbox.Compiler(s.Arch)
	if err != nil {
		return nil, err
	}
	w := &workshop{subject: s, compiler: compiler, reference: reference, joined: map[string]string{}}
	if reference.Program == nil {
		return w, nil
	}
	objects, err := filepath.Glob(filepath.Join(reference.Work, "*.o"))
	w.between = w.object(".harness-" + grade.Between)
	w.objects = slices.DeleteFunc(objects, func(object string) bool { return object == w.between })
	if err == nil && len(w.objects) == len(objects) {
		err = fmt.Errorf("%s: the build of the reference left no objects beside %s", s, reference.Program.Path)
	}
	return w, err
}

// object is where the build of the reference has left the object of a source.
func (w *workshop) object(source string) string {
	return filepath.Join(w.reference.Work, source+".o")
}

// examine grades a mutant until named says that a fault is the planted one, which saves the items that follow. A mutant
// that does not build gets a report that says so. A mutant that compiles to the same code as the reference is not
// graded: it gets no report.
func (w *workshop) examine(
	ctx context.Context, m mutate.Mutant, named func(grade.Fault) bool,
) (report *grade.Report, err error) {
	work, err := os.MkdirTemp("", "fiberlab-mutant-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	if err := os.CopyFS(filepath.Join(work, "sources"), os.DirFS(w.reference.Dir)); err != nil {
		return nil, err
	}
	dir := filepath.Join(work, "sources")
	if err := os.WriteFile(filepath.Join(dir, m.File), []byte(m.Text), 0o600); err != nil {
		return nil, err
	}
	object, program := filepath.Join(work, "mutant.o"), filepath.Join(work, "program")
	flags := slices.Concat([]string{"-std=gnu11", "-O2", "-g", "-fno-pie"}, w.reference.Flags, []string{"-w"})
	bench := *w.reference
	bench.Trusted = true
	if bench.Program == nil { // the notes of all objects name one folder
		flags = append(flags, "-fdebug-prefix-map="+dir+"="+bench.Dir)
	} else {
		bench.Dir = dir
	}
	if _, err := os.Stat(w.object(m.File)); err != nil {
		return nil, fmt.Errorf("the build of the reference left no object of %s: %w", m.File, err)
	}
	if said, err := w.run(ctx, dir, append(flags, "-c", "-o", object, m.File)); err != nil {
		return unbuilt(ctx, said, err)
	}
	if filepath.Ext(m.File) == ".c" {
		if same, err := sameCode(object, w.object(m.File)); same || err != nil {
			return nil, err
		}
	}
	if bench.Program == nil { // the items link their programs
		bench.Work, bench.Objects = work, slices.Clone(bench.Objects)
		bench.Objects[slices.Index(bench.Objects, w.object(m.File))] = object
		return w.until(ctx, m, &bench, named)
	}
	rest, err := w.rest(ctx, m.File)
	if err != nil {
		return nil, err
	}
	link := append(
		[]string{
			"-static", "-no-pie", "-nostdlib", "-g", "-fno-use-linker-plugin", "-Wl,-z,noexecstack", "-o", program,
			object, w.between, rest,
		},
		grade.Link(w.subject.Arch)...)
	if said, err := w.run(ctx, dir, link); err != nil {
		return unbuilt(ctx, said, err)
	}
	if bench.Program, err = machine.Open(program); err != nil {
		return nil, err
	}
	return w.until(ctx, m, &bench, named)
}

// fewSchedules are tried in about the time in which a program starts.
const fewSchedules = 1000

// until examines a mutant until named says that a fault is the planted one. An item that passes tries all its
// schedules, which takes much longer than to fail. So it begins with an item that fails within few schedules, if there
// is one.
func (w *workshop) until(
	ctx context.Context, m mutate.Mutant, bench *grade.Bench, named func(grade.Fault) bool,
) (*grade.Report, error) {
	items, found := w.habits.order(m, w.subject.Lab.ItemsOn(w.subject.Arch)), ""
	if w.subject.Lab.Examiner != nil {
		early, by := *bench, ""
		early.Schedules = fewSchedules
		if _, err := w.subject.until(items, named, &by).Lab.Examine(ctx, &early, nil); err != nil {
			return nil, err
		}
		at := slices.IndexFunc(items, func(item grade.Item) bool { return item.Name == by })
		if at > 0 {
			items = slices.Concat(items[at:at+1], items[:at], items[at+1:])
		}
	}
	report, err := w.subject.until(items, named, &found).Lab.Examine(ctx, bench, nil)
	if found != "" {
		w.habits.found(m, found)
	}
	return report, err
}

// rest returns one object that links all of the reference's objects, except the object of source, with the C library.
func (w *workshop) rest(ctx context.Context, source string) (string, error) {
	w.joining.Lock()
	defer w.joining.Unlock()
	if object, made := w.joined[source]; made {
		return object, nil
	}
	object := w.object("rest-without-" + source)
	others := slices.DeleteFunc(slices.Clone(w.objects), func(other string) bool { return other == w.object(source) })
	if err := sandbox.Library(ctx, w.compiler, object, others, []string{w.object(source)}); err != nil {
		return "", err
	}
	w.joined[source] = object
	return object, nil
}

func (w *workshop) run(ctx context.Context, dir string, args []string) (string, error) {
	c := exec.CommandContext(ctx, w.compiler[0], append(w.compiler[1:len(w.compiler):len(w.compiler)], args...)...)
	c.Dir = dir
	out, err := c.CombinedOutput()
	return string(out), err
}

// unbuilt is the report of a mutant that the compiler refused. It returns err if the compiler did not get that far.
func unbuilt(ctx context.Context, said string, err error) (*grade.Report, error) {
	if exit := new(exec.ExitError); ctx.Err() != nil || !errors.As(err, &exit) || !exit.Exited() {
		return nil, fmt.Errorf("the compiler: %w", cmp.Or(ctx.Err(), err))
	}
	said = strings.TrimSpace(said)
	return &grade.Report{Build: &grade.BuildReport{Failed: true, Said: strings.Split(said, "\n")}}, nil
}

// until returns the subject with a lab whose items, in the order given, are examined until there is a fault of that
// kind. by gets the name of the item that finds it.
func (s Subject) until(items []grade.Item, wanted func(grade.Fault) bool, by *string) Subject {
	lab := *s.Lab
	lab.Items, lab.ByArch, lab.AtOnce = nil, nil, 0
	for _, item := range items {
		check := item.Check
		item.Check = func(ctx context.Context, b *grade.Bench) ([]grade.Fault, error) {
			if *by != "" {
				return nil, nil
			}
			faults, err := check(ctx, b)
			if slices.ContainsFunc(faults, wanted) {
				*by = item.Name
			}
			return faults, err
		}
		lab.Items = append(lab.Items, item)
	}
	s.Lab = &lab
	return s
}

// habits are, for each function of the reference, the items that found its mutants, the last one first: they are likely
// to find the next.
type habits struct {
	mu    sync.Mutex
	items map[string][]string
}

// order returns the items with those first that found earlier mutants of the same function.
func (h *habits) order(m mutate.Mutant, items []grade.Item) []grade.Item {
	h.mu.Lock()
	defer h.mu.Unlock()
	names := h.items[m.File+": "+m.Function]
	rank := func(item grade.Item) int {
		if i := slices.Index(names, item.Name); i >= 0 {
			return i
		}
		return len(names)
	}
	items = slices.Clone(items)
	slices.SortStableFunc(items, func(a, b grade.Item) int { return rank(a) - rank(b) })
	return items
}

// found keeps which item has found a mutant.
func (h *habits) found(m mutate.Mutant, item string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.items == nil {
		h.items = map[string][]string{}
	}
	function := m.File + ": " + m.Function
	others := slices.DeleteFunc(slices.Clone(h.items[function]), func(name string) bool { return name == item })
	h.items[function] = append([]string{item}, others...)
}
