package explored

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"fiberlab/labs/explore"
	"fiberlab/labs/grade"
	"fiberlab/labs/machine"
	"fiberlab/labs/sandbox"
)

// examiner builds submissions for the explorer.
type examiner struct {
	scenarios []scenario
	calls     []string // functions of explore.h that a submission may call
	shared    []string // of the tests' variables, those that a submission may access; nil: all
}

// locks are the functions of explore.h for submissions that sleep by what the tests give, and by nothing else. None of
// them orders a thread behind another one's end: a test may have a thread begin what it counts, so that who changes the
// counts races with it.
var locks = []string{"explore_check", "explore_lock", "explore_trylock", "explore_unlock", "explore_yield"}

// sleeps has those for submissions that sleep, and start no thread.
var sleeps = append([]string{"explore_self", "explore_park", "explore_park_until", "explore_unpark"}, locks...)

// notOfTests has all but those by which tests find out what a submission does, and choose what it meets.
var notOfTests = append([]string{"explore_start", "explore_join"}, sleeps...)

// may are the functions of the C library that a submission may use: the runtime has its own, or they do nothing but
// compute.
var may = []string{
	"malloc", "calloc", "realloc", "free", "aligned_alloc", "abort", "__assert_fail", "strlen", "strcmp", "write",
	"__popcountdi2", "__clzdi2", "__ctzdi2", "__ffsdi2", "__paritydi2", // of the compiler
}

// Prepare compiles the submission, the scenarios and the runtime. What a scenario calls must be there.
func (e *examiner) Prepare(
	ctx context.Context, l *grade.Lab, s *grade.Submission, o grade.Options,
) (*grade.Bench, error) {
	if err := unmarked(s); err != nil {
		return nil, err
	}
	given := filepath.Join(s.Work, "given")
	if err := give(l, s, given); err != nil {
		return nil, err
	}
	runtime, err := explore.NewRuntimeFor(ctx, o.Arch, s.Work)
	if err != nil {
		return nil, err
	}
	build := sandbox.BuildOptions{
		Arch: o.Arch, Dir: s.Dir, Sources: s.Names, Given: s.Given, Work: s.Work, Look: look,
		Flags: append(runtime.Words(), "-Wno-unused-parameter", "-I", "."),
	}
	var own, tests *sandbox.Built
	group, limited := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		own, err = sandbox.Compile(limited, build)
		return err
	})
	group.Go(func() (err error) {
		build := build
		build.Dir, build.Sources, build.Given, build.Look = given, e.sources(l), nil, nil
		if tests, err = sandbox.Compile(limited, build); err != nil {
			err = sandbox.Ours("the lab's tests", err)
		}
		return err
	})
	if err := group.Wait(); err != nil {
		return nil, err
	}
	if err := e.symbols(own, tests.Objects, runtime.Objects(), l.Handout); err != nil {
		return nil, err
	}
	return &grade.Bench{
		Objects: own.Objects, Flags: build.Flags, Warnings: own.Warnings,
		Built: &around{runtime, filepath.Join(s.Work, "tests"), given}, Options: machine.Options{
			Emulator: o.Emulator, Calls: calls,
			Wrap: func(argv []string) []string { return sandbox.Wrap(argv, sandbox.Limits{CPU: cpuTime}) },
		},
	}, nil
}

// around is what a submission is linked with.
type around struct {
	runtime *explore.Runtime
	tests   string // the folder of the scenarios' objects
	given   string // in whose folder tests their sources are
}

// link makes the program of a scenario and returns its path. It makes the programs of a trusted submission
// once, and they stay in b.Work.
func link(ctx context.Context, b *grade.Bench, s scenario) (string, error) {
	with := b.Built.(*around)
	program := filepath.Join(b.Work, strings.TrimSuffix(s.file, ".c"))
	if _, err := os.Stat(program); b.Trusted && err == nil {
		return program, nil
	}
	err := with.runtime.Link(ctx, program, append(slices.Clone(b.Objects), filepath.Join(with.tests, s.file+".o")))
	return program, err
}

// sources are the files of the scenarios that are items of l, in the folder of the lab.
func (e *examiner) sources(l *grade.Lab) []string {
	var all []string
	for _, s := range e.scenarios {
		asked := slices.ContainsFunc(l.Items, func(i grade.Item) bool { return i.Name == s.name })
		if name := "tests/" + s.file; asked && !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

// give puts the grader's explore.h into the folder of the submission. It makes the folder given, with the lab's
// scenarios and the headers that are given: so no file of the submission has a part in how a scenario is compiled.
func give(l *grade.Lab, s *grade.Submission, given string) error {
	files := map[string][]byte{filepath.Join(s.Dir, "explore.h"): explore.Header()}
	files[filepath.Join(given, "explore.h")] = explore.Header()
	for _, name := range l.Fixed {
		text, err := l.File(name)
		if err != nil {
			return err
		}
		files[filepath.Join(given, filepath.Base(name))] = text
	}
	tests, err := l.Tests()
	if err != nil {
		return err
	}
	entries, err := fs.ReadDir(tests, ".")
	if err != nil {
		return err
	}
	for _, f := range entries {
		text, err := fs.ReadFile(tests, f.Name())
		if err != nil {
			return err
		}
		files[filepath.Join(given, "tests", f.Name())] = text
	}
	for _, folder := range []string{filepath.Join(given, "tests"), filepath.Join(s.Work, "tests")} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return err
		}
	}
	for name, text := range files {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// refused are words by which a source hides from the compiler's marks, or writes assembly.
var refused = regexp.MustCompile(
	`\b(asm|__asm|__asm__|constructor|__constructor__|destructor|section|__section__|alias|__alias__|weakref|` +
		`__weakref__|naked|__naked__|\w*no_sanitize\w*|disable_sanitizer_instrumentation|(?:__)?optimize(?:__)?|` +
		`(?:__)?address_space(?:__)?|__seg_\w+|` +
		`_mm\w*|v(?:ld|st)[1-4]\w*|__builtin_(?:ia32|arm|aarch64|neon|nontemporal)\w*)\b|` +
		`^\s*#\s*pragma\s+(redefine_extname|weak|GCC\s+optimize)`,
)

var text = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// defines is a macro as the preprocessor passes it on, with its body. One that stands for a number, or for nothing, can
// put no refused word into a line of a system header.
var (
	defines    = regexp.MustCompile(`^#define (\w+)(?:\([^)]*\))? *(.*)$`)
	harmless   = regexp.MustCompile(`^(?:\d\w*)?$`)
	identifier = regexp.MustCompile(`(?s)/\*.*?\*/|//[^\n]*|\b[A-Za-z_]\w*`) // or a comment
)

// look refuses a source that has refused words, or macros by which the system headers that follow could have some.
func look(name, source string) error {
	macros := map[string]bool{}
	begins := func(file, header string) error {
		text, err := os.ReadFile(header)
		for _, name := range identifier.FindAllString(string(text), -1) {
			if macros[name] {
				return &sandbox.BuildError{
					File: file, Text: fmt.Sprintf("defines %s, a name in %s: include that before", name, path.Base(header)),
				}
			}
		}
		return err
	}
	return eachLine(name, source, begins, func(file, line string, number int) error {
		if m := defines.FindStringSubmatch(line); m != nil && !harmless.MatchString(m[2]) {
			macros[m[1]] = true
		}
		if found := refused.FindString(text.ReplaceAllString(line, `""`)); found != "" {
			return &sandbox.BuildError{
				File: file, Line: number,
				Text: fmt.Sprintf("uses %s: not allowed in this lab, not even as a name of your own", strings.TrimSpace(found)),
			}
		}
		return nil
	})
}

// marking is a directive by which a source says where its lines come from, as the preprocessor does. Compilers do not
// agree on bytes that are zero.
var marking = regexp.MustCompile(
	`(?m)^(?:.*\*/)?[ \t\f\v]*(?:#|%:|\?\?=)(?:[ \t\f\v]|/\*(?s:.*?)\*/)*(?:line\b|\d)|\x00`,
)

var (
	lineEnds  = strings.NewReplacer("\r\n", "\n", "\r", "\n")
	joinsNext = regexp.MustCompile(`(?:\\|\?\?/)[ \t\f\v]*\n`)
	// comment matches a comment with no quote, `<`, `/` or directive before it on its line. Each compiler takes that for
	// a comment, or for the end of one.
	comment = regexp.MustCompile(`(?m)^([^"'</#%?\n]*[^"'</*#%?\n])?/\*(?:[^/](?s:.*?))??\*/`)
)

// unmarked refuses files with such directives.
func unmarked(s *grade.Submission) error {
	for _, name := range s.Names {
		text, err := os.ReadFile(filepath.Join(s.Dir, name))
		if err != nil {
			return err
		}
		joined := joinsNext.ReplaceAllString(lineEnds.Replace(string(text)), "")
		if marking.MatchString(comment.ReplaceAllString(joined, "$1 ")) {
			return &sandbox.BuildError{
				File: name, Text: "says by #line where its lines come from, or has zero bytes: not allowed here",
			}
		}
	}
	return nil
}

// mark is a line of the preprocessor that says where the next one comes from. 1 is the begin of a file, 2 the return to
// one.
var mark = regexp.MustCompile(`^# (\d+) "((?:[^"\\]|\\.)*)"((?: \d)*)$`)

// eachLine calls see with the lines of a preprocessed source that do not come from the system's headers, and begins
// with each of these where it is included.
func eachLine(
	name, text string, begins func(file, header string) error, see func(file, line string, number int) error,
) error {
	files, number := []string{name}, 0
	own := func(file string) bool { return !filepath.IsAbs(file) && !strings.HasPrefix(file, "<") }
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		m := mark.FindStringSubmatch(line)
		if m == nil {
			file := files[len(files)-1]
			if own(file) {
				if err := see(path.Clean(file), line, number); err != nil {
					return err
				}
			}
			number++
			continue
		}
		fmt.Sscan(m[1], &number)
		switch file, flags := m[2], m[3]; {
		case flags == "": // what the compiler defines itself begins, or the source
			files[len(files)-1] = file
		case strings.HasPrefix(flags, " 1"):
			if filepath.IsAbs(file) {
				if err := begins(path.Clean(files[len(files)-1]), file); err != nil {
					return err
				}
			}
			files = append(files, file)
		case strings.HasPrefix(flags, " 2") && len(files) > 1:
			files = files[:len(files)-1]
		}
	}
	return nil
}

// symbols takes the given objects that are needed, and looks at what the submission's objects define and use. It must
// define all that scenarios call and nothing else defines.
func (e *examiner) symbols(submission *sandbox.Built, scenarios, runtime []string, handout string) error {
	tests, err := namesOf(scenarios)
	if err != nil {
		return err
	}
	around, err := namesOf(runtime)
	if err != nil {
		return err
	}
	allowed := slices.Concat(may, e.calls)
	for name := range around.defined {
		if strings.HasPrefix(name, "__tsan_") || name == "__sanitizer_cov_trace_pc" {
			allowed = append(allowed, name)
		}
	}
	for name := range tests.defined {
		allowed = append(allowed, name)
	}
	var calls []string
	for name := range tests.used {
		if !around.defined[name] && !slices.Contains(may, name) {
			calls = append(calls, name)
		}
	}
	allowed = append(allowed, calls...) // what of these nothing defines is said below
	if err := submission.Take(calls); err != nil {
		return err
	}
	if err := sandbox.Symbols(submission.Objects, slices.Concat(scenarios, runtime), calls, allowed); err != nil {
		return err
	}
	own, err := namesOf(submission.Objects)
	if err != nil {
		return err
	}
	slices.Sort(calls)
	for _, name := range calls {
		if !own.defined[name] && !tests.defined[name] && !slices.Contains(unbidden, name) {
			return &sandbox.BuildError{Text: fmt.Sprintf("nothing defines %s: the lab needs it (%s)", name, handout)}
		}
	}
	return nil
}

// unbidden are the names that compilers use for what a source does not say.
var unbidden = []string{"memcpy", "memmove", "memset", "memcmp", "_GLOBAL_OFFSET_TABLE_", "__stack_chk_fail"}

// names are global names of objects.
type names struct{ defined, used map[string]bool }

func namesOf(objects []string) (names, error) {
	n := names{map[string]bool{}, map[string]bool{}}
	for _, object := range objects {
		f, err := elf.Open(object)
		if err != nil {
			return n, err
		}
		all, err := f.Symbols()
		if err = errors.Join(err, f.Close()); err != nil && !errors.Is(err, elf.ErrNoSymbols) {
			return n, err
		}
		for _, s := range all {
			switch {
			case s.Name == "" || elf.ST_BIND(s.Info) == elf.STB_LOCAL:
			case s.Section == elf.SHN_UNDEF:
				n.used[s.Name] = true
			default:
				n.defined[s.Name] = true
			}
		}
	}
	return n, nil
}
