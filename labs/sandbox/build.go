package sandbox

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"fiberlab/labs/machine"
)

// What the compiler may take.
const (
	BuildTimeout = 60 * time.Second // one run, on the clock of a machine that is busy
	BuildCPU     = 3 * time.Second  // one run, of a processor
	AllBuildCPU  = 15 * time.Second // all runs over the sources of a submission, of a processor
)

// mostSaid is how much of a compiler's output is kept, in bytes.
const mostSaid = 64 << 10

// BuildOptions say what is built, and where.
type BuildOptions struct {
	Arch    *machine.Arch
	Dir     string            // the folder of the sources, copied by Collect; the compiler runs there
	Sources []string          // names in Dir; .c and .S are compiled, the others are there to be included
	Given   []string          // more names in Dir, for Built.Take
	Harness map[string]string // the grader's own sources, by name: harness.c
	Between string            // a name in Harness, or empty: its object is linked behind each of the submission's
	Work    string            // a folder for objects and the program
	Flags   []string          // more flags for the compiler
	Link    []string          // more flags for the linker, as the compiler takes them
	Calls   []string          // the submission's symbols that the harness uses; what else it uses is the C library's
	May     []string          // the symbols of the C library that the submission may use; nil: all
	// Look is called with the text of each source in C as the preprocessor leaves it, with macros and marks of lines.
	// Its errors end the build. Several goroutines may call it at once. It may be nil.
	Look func(name, text string) error
	CPU  time.Duration // what all runs of the compiler over Sources may take of a processor; 0: AllBuildCPU
}

// Built is a program that has been built.
type Built struct {
	Path     string   // of the program
	Objects  []string // the paths of the submission's objects
	Warnings []string // lines of the compiler about the submission, the first few
	given    []string // the paths of the given objects that were not taken
}

// BuildError says what is wrong with the sources.
type BuildError struct {
	File string // the source, as it was handed in; empty if it is not known
	Line int    // 0 if it is not known
	Text string // what is wrong, in the compiler's own words
	More string // the next few lines of the compiler
}

// Error names the place and what is wrong there.
func (e *BuildError) Error() string {
	switch {
	case e.File == "":
		return e.Text
	case e.Line == 0:
		return e.File + ": " + e.Text
	default:
		return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Text)
	}
}

// Ours returns err, about the grader's own sources, as an error that is no *BuildError and begins with what.
func Ours(what string, err error) error {
	if failed := new(BuildError); errors.As(err, &failed) {
		err = errors.New(failed.Error())
	}
	return fmt.Errorf("%s: %w", what, err)
}

// Build compiles and links a static program at fixed addresses. It takes of Given what the sources or Calls need. The
// compiler runs confined: it reads its own folders, the system's headers and Dir, and writes Work. A *BuildError says
// that the sources are at fault; other errors say that it could not be tried.
func Build(ctx context.Context, o BuildOptions) (*Built, error) {
	b, built, own, err := compile(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := built.Take(o.Calls); err != nil {
		return nil, err
	}
	if err := Symbols(built.Objects, own, o.Calls, o.May); err != nil {
		return nil, err
	}
	var linked []string
	for _, object := range built.Objects {
		linked = append(linked, object)
		if o.Between != "" {
			linked = append(linked, b.own(o.Between))
		}
	}
	built.Path = filepath.Join(b.Work, "program")
	return built, b.link(ctx, built.Path, append(linked, own...))
}

// Compile compiles the sources as Build does, takes nothing of Given and links nothing: the Path of what it returns is
// empty.
func Compile(ctx context.Context, o BuildOptions) (*Built, error) {
	_, built, _, err := compile(ctx, o)
	if err != nil {
		return nil, err
	}
	return built, Symbols(built.Objects, nil, nil, nil)
}

// compile compiles the sources and the harness, whose objects are own.
func compile(ctx context.Context, o BuildOptions) (_ *build, _ *Built, own []string, _ error) {
	cc, err := compilerFor(o.Arch)
	if err != nil {
		return nil, nil, nil, err
	}
	b := &build{
		BuildOptions: o, compiler: cc,
		flags: slices.Concat([]string{"-std=gnu11", "-O2", "-g", "-fno-pie", "-Wall", "-Wextra"}, o.Flags),
	}
	for _, folder := range []*string{&b.Dir, &b.Work} {
		if *folder, err = filepath.Abs(*folder); err != nil {
			return nil, nil, nil, err
		}
	}
	sources := compiled(o.Sources)
	submitted := len(sources)
	sources = append(sources, compiled(o.Given)...)
	objects, said := make([]string, len(sources)), make([]string, len(sources))
	group, limited := errgroup.WithContext(ctx)
	group.SetLimit(runtime.NumCPU())
	group.Go(func() (err error) {
		own, err = b.harness(limited)
		return err
	})
	failures := make([]error, len(sources))
	for i, name := range sources {
		group.Go(func() error {
			objects[i], said[i], failures[i] = b.source(limited, name)
			return nil // another source may be wrong too: what is told is the first in order
		})
	}
	if err := group.Wait(); err != nil {
		return nil, nil, nil, err
	}
	for i, err := range failures {
		if err != nil && (i < submitted || !errors.As(err, new(*BuildError))) {
			return nil, nil, nil, err
		}
	}
	built := &Built{Objects: objects[:submitted:submitted]}
	for i := submitted; i < len(sources); i++ {
		if failures[i] == nil { // else it fits no context of the submission's own: then nothing needs it
			built.given = append(built.given, objects[i])
		}
	}
	for _, s := range said {
		built.Warnings = append(built.Warnings, warnings(s)...)
	}
	return b, built, own, nil
}

// compiled are the names of sources among names.
func compiled(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return filepath.Ext(name) != ".c" && filepath.Ext(name) != ".S"
	})
}

// build is one call of Build.
type build struct {
	BuildOptions
	compiler *compiler
	flags    []string
	made     atomic.Int64 // bytes of the submission's objects
	spent    atomic.Int64 // nanoseconds of a processor that the compiler has taken for them
}

// mostMade is how large the submission's objects may be, all together, in bytes.
const mostMade = 32 << 20

var errTooMuch = &BuildError{Text: fmt.Sprintf("its objects have more than %d MB, all together", mostMade>>20)}

// source compiles a source of the submission.
func (b *build) source(ctx context.Context, name string) (object, said string, err error) {
	object = filepath.Join(b.Work, name+".o")
	if b.made.Load() > mostMade {
		return "", "", errTooMuch
	}
	if err := b.overspent(); err != nil {
		return "", "", err
	}
	defer func() {
		if info, missing := os.Stat(object); missing == nil && b.made.Add(info.Size()) > mostMade {
			os.Remove(object)
			err = errTooMuch
		}
	}()
	flags := append(slices.Clone(b.flags), "-MD", "-MF", object+".c.d")
	if b.compiler.clang {
		if text, err := os.ReadFile(filepath.Join(b.Dir, name)); err != nil || incbin.Match(text) {
			return "", "", errors.Join(err, &BuildError{File: name, Text: "uses .incbin: not allowed here"})
		}
	} else {
		flags = append(flags, "-Wa,--MD,"+object+".s.d", "-fmax-errors=20")
	}
	said, took, err := b.run(ctx, append(flags, "-c", "-o", object, name))
	b.spent.Add(int64(took))
	if slow := b.overspent(); slow != nil {
		return "", "", slow
	}
	if errors.Is(err, errCompiler) {
		for _, u := range unreadable {
			if m := u.FindStringSubmatch(said); m != nil && b.compiler.foreignFile(b.Dir, b.Work, m[1:]) != "" {
				return "", "", includes(name, lineOf(said, m[0]), m[1])
			}
		}
	}
	used := append(dependencies(object+".c.d"), dependencies(object+".s.d")...)
	if foreign := b.compiler.foreignFile(b.Dir, b.Work, used); foreign != "" {
		return "", "", includes(name, 0, foreign)
	}
	if err == nil && b.Look != nil && filepath.Ext(name) == ".c" {
		if err := b.look(ctx, name, object+".i"); err != nil {
			return "", "", err
		}
	}
	return object, said, failed(err, said, name)
}

// look has Look see a source in C, which is preprocessed into the file at path.
func (b *build) look(ctx context.Context, name, path string) error {
	said, took, err := b.run(ctx, append(slices.Clone(b.flags), "-E", "-dD", "-o", path, name))
	b.spent.Add(int64(took))
	if err != nil {
		return failed(err, said, name)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return b.Look(name, string(text))
}

// overspent is an error if the compiler has taken more time for the submission than it may.
func (b *build) overspent() error {
	if most := cmp.Or(b.CPU, AllBuildCPU); b.spent.Load() > int64(most) {
		return &BuildError{
			Text: fmt.Sprintf(
				"the compiler needs more than %v for all files together: hand in fewer, or shorter ones", most,
			),
		}
	}
	return nil
}

// lineOf returns the line number that the compiler told along with what.
func lineOf(said, what string) int {
	before, _, _ := strings.Cut(said, what)
	m := regexp.MustCompile(`:(\d+):(?:\d+:)? $`).FindStringSubmatch(before)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1])
	return n
}

// harnesses are the objects of the grader's own sources: each is compiled once.
var harnesses sync.Map // from the command, the name and the text to the bytes of the object

// own is where the object of a source of the harness lies. No source of a submission begins with a dot.
func (b *build) own(name string) string { return filepath.Join(b.Work, ".harness-"+name+".o") }

// harness puts the objects of the grader's own sources into the work folder.
func (b *build) harness(ctx context.Context) (objects []string, err error) {
	for _, name := range slices.Sorted(maps.Keys(b.Harness)) {
		object := b.own(name)
		source := strings.TrimSuffix(object, ".o")
		objects = append(objects, object)
		key := strings.Join(slices.Concat(b.compiler.words, b.flags, []string{name, b.Harness[name]}), "\x00")
		if made, ok := harnesses.Load(key); ok {
			if err := os.WriteFile(object, made.([]byte), 0o600); err != nil {
				return nil, err
			}
			continue
		}
		if err := os.WriteFile(source, []byte(b.Harness[name]), 0o600); err != nil {
			return nil, err
		}
		said, _, err := b.run(
			ctx, slices.Concat(b.flags, []string{"-fdebug-prefix-map=" + b.Work + "=/", "-c", "-o", object, source}),
		)
		if err != nil {
			return nil, Ours("the harness", failed(err, said, ""))
		}
		made, err := os.ReadFile(object)
		if err != nil {
			return nil, err
		}
		harnesses.Store(key, made)
	}
	return objects, nil
}

func (b *build) link(ctx context.Context, path string, objects []string) error {
	said, _, err := b.run(
		ctx, slices.Concat([]string{"-static", "-no-pie", "-g", "-Wl,-z,noexecstack", "-o", path}, b.Link, objects),
	)
	if errors.Is(err, errCompiler) {
		if libc, _ := b.compiler.ask("-print-file-name=libc.a"); strings.TrimSpace(libc) == "libc.a" {
			return fmt.Errorf(
				"the static C library (libc.a) for %s is missing: install libc6-dev, glibc-static or the like",
				b.Arch.Name,
			)
		}
	}
	return failed(err, said, "")
}

var errCompiler = errors.New("the compiler failed")

// run runs the compiler in the folder of the submission, confined,
// and returns what it said and what it took of a processor.
func (b *build) run(ctx context.Context, args []string) (said string, took time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, BuildTimeout)
	defer cancel()
	folders := &compilerFolders{Read: append(slices.Clone(b.compiler.folders), b.Dir), Write: []string{b.Work}}
	argv := wrap(slices.Concat(b.compiler.words, args), confinement{Limits: Limits{CPU: BuildCPU}, Compiler: folders})
	c := exec.CommandContext(ctx, argv[0], argv[1:]...)
	c.Dir = b.Dir
	c.SysProcAttr = separate()
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TMPDIR=" + b.Work, "CCACHE_DISABLE=1"}
	c.Cancel = func() error { // with all that it has started
		return errors.Join(c.Process.Kill(), syscall.Kill(-c.Process.Pid, syscall.SIGKILL))
	}
	// for what has left the group and keeps the output; it begins when the compiler ends, too
	c.WaitDelay = 20 * time.Second
	out := &output{}
	c.Stdout, c.Stderr = out, out
	// The child ends with the thread that starts it, which is to live until then.
	runtime.LockOSThread()
	err = c.Run()
	runtime.UnlockOSThread()
	if c.ProcessState != nil { // with the programs that it has run
		took = c.ProcessState.UserTime() + c.ProcessState.SystemTime()
	}
	said = out.kept.String()
	exit, unconfined := new(exec.ExitError), Unconfined(err, said)
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded) && context.Cause(ctx) == context.DeadlineExceeded && err != nil:
		return "", took, &BuildError{Text: fmt.Sprintf("the compiler does not end within %v", BuildTimeout)}
	case ctx.Err() != nil:
		return "", took, ctx.Err()
	case unconfined != nil:
		return "", took, unconfined
	case errors.As(err, &exit):
		status, _ := exit.Sys().(syscall.WaitStatus)
		if took < BuildCPU && (status.Signal() == syscall.SIGKILL || killed.MatchString(said)) {
			return "", took, fmt.Errorf("the compiler was killed, as when memory is short: %w: %s", err, clip(said))
		}
		return said, took, errCompiler
	}
	return said, took, err
}

// output keeps the beginning of what is written to it.
type output struct{ kept bytes.Buffer }

// Write takes all and keeps what there is room for.
func (o *output) Write(text []byte) (int, error) {
	o.kept.Write(text[:min(len(text), mostSaid-o.kept.Len())])
	return len(text), nil
}

var (
	diagnostic = regexp.MustCompile(`^(?:[^ :]*ld: )?([^ :]+):(?:(\d+):)?(?:\d+:)? (.*)$`)
	killed     = regexp.MustCompile(`Killed signal|terminated with signal 9|unable to execute command: Killed`)
	temporary  = regexp.MustCompile(`^cc[A-Za-z0-9]{6}\.[so]$`)
	complaint  = regexp.MustCompile(
		`(?i)\berror\b|undefined reference|multiple definition|out of memory|memory exhausted|Killed`,
	)
)

// failed turns what the compiler said of a source, or of all ("") into a BuildError.
func failed(err error, said, source string) error {
	if !errors.Is(err, errCompiler) {
		return err
	}
	if strings.Contains(said, "CPU time limit exceeded") || strings.Contains(said, "Killed signal") {
		return &BuildError{File: source, Text: fmt.Sprintf("the compiler needs more than %v", BuildCPU)}
	}
	lines := strings.Split(strings.TrimSpace(said), "\n")
	for i, line := range lines {
		m := diagnostic.FindStringSubmatch(line)
		if m == nil || !complaint.MatchString(m[3]) {
			continue
		}
		n, _ := strconv.Atoi(m[2])
		file := filepath.Base(m[1])
		if temporary.MatchString(file) { // what the compiler has made of a C source
			file, n = source, 0
		}
		return &BuildError{
			File: file, Line: n, Text: clip(m[3]), More: clip(strings.Join(lines[i+1:min(len(lines), i+4)], "\n")),
		}
	}
	return &BuildError{File: source, Text: clip(strings.Join(lines[:min(len(lines), 4)], "\n"))}
}

// clip keeps the beginning of what may be very long.
func clip(text string) string { return machine.Clip(text, 600, " ...") }

func warnings(said string) []string {
	var w []string
	for line := range strings.Lines(said) {
		if strings.Contains(strings.ToLower(line), "warning:") && len(w) < 10 {
			w = append(w, clip(strings.TrimSpace(line)))
		}
	}
	return w
}
