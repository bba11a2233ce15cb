package explore

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"fiberlab/asm"
	"fiberlab/labs/machine"
	"fiberlab/labs/sandbox"
)

//go:embed runtime
var runtimeSources embed.FS

// BuildOptions say how to build a program.
type BuildOptions struct {
	Compiler string   // the command of the C compiler; empty: $CC, or Go's
	Define   []string // macros, as NAME or NAME=VALUE
	Keep     string   // the program is written to this file, and stays; empty: to a temporary one
}

// Program is a program that was built. Close removes it.
type Program struct {
	Path string
	// Command returns the command that runs the program with the words argv, the first of which is Path; nil: argv
	// itself, behind $FIBERLAB_EXEC.
	Command func(argv []string) []string
	folder  string // with what was made to build it
	once    sync.Once
	source  *source
}

// Close removes the program, unless BuildOptions.Keep named a file for it.
func (p *Program) Close() error { return os.RemoveAll(p.folder) }

// Runtime is the runtime, compiled. It is compiled once, for any number of programs. Close removes it.
type Runtime struct {
	compiler []string
	arch     string // as Go names it
	folder   string
	objects  []string
	link     []string // more words for the linker
	program  []string // the words by which a file of a program is compiled
}

// ofProgram is how the compiler is called for a file of a program. Behind each branch it calls the runtime, which
// counts the calls of a loop without end. A call of the runtime must be no jump, so that its return address lies in the
// line of the caller. Without inlining, each step is in the function in whose text it stands. DWARF 4 has types without
// marks of atomic ones, and addresses of variables in place: package dwarf knows no others. The runtime is compiled
// with it, too. Thread-local variables are global ones, since threads are fibers: so they get their first values back.
var ofProgram = []string{
	"-std=c11", "-g", "-gdwarf-4", "-Wall", "-fsanitize=thread", "-fsanitize-coverage=trace-pc",
	"-fno-optimize-sibling-calls", "-fno-inline", "-D_Thread_local=", "-D__thread=", "-c",
}

// At these levels no access of a loop moves out of it, and no variable is split. clang reports the read of n++, which
// it leaves to the write otherwise. gcc does not warn that its runtime ignores fences. Neither marks an access to a
// local variable whose address is not taken. By an index outside of its bounds, such an access reaches any memory: so
// it traps.
var (
	ofClang = []string{
		"-O0", "-mllvm", "-tsan-instrument-read-before-write=1", "-fsanitize=array-bounds,local-bounds",
		"-fsanitize-trap=array-bounds,local-bounds",
	}
	ofGCC = []string{
		"-Og", "-Wno-tsan", "-fsanitize=bounds-strict,object-size", "-fsanitize-undefined-trap-on-error",
	}
)

// ofSwap are the global names of package asm, behind marl_fiber_. The runtime has them under other names, since a
// program may bring a swap of its own.
var ofSwap = []string{"swap", "swap_fp", "set_target", "trampoline", "returned", "check"}

// NewRuntime compiles the runtime by that compiler; empty: $CC, or Go's. If ctx ends, it returns its error.
func NewRuntime(ctx context.Context, compiler string) (r *Runtime, err error) {
	words := strings.Fields(compiler)
	if len(words) == 0 {
		return NewRuntimeFor(ctx, machine.Native(), "")
	}
	if _, err := exec.LookPath(words[0]); err != nil {
		return nil, fmt.Errorf("there is no C compiler %s: %w", words[0], err)
	}
	return newRuntime(ctx, words, machine.Native(), "")
}

// NewRuntimeFor compiles the runtime for an architecture, by the compiler that package sandbox has for it. What it
// makes lies in a new folder within that one; empty: within the usual one for temporary files.
func NewRuntimeFor(ctx context.Context, a *machine.Arch, within string) (*Runtime, error) {
	words, err := sandbox.Compiler(a)
	if err != nil {
		return nil, err
	}
	return newRuntime(ctx, words, a, within)
}

func newRuntime(ctx context.Context, compiler []string, a *machine.Arch, within string) (r *Runtime, err error) {
	r = &Runtime{compiler: compiler, arch: a.Name}
	if r.folder, err = os.MkdirTemp(within, "fiberlab-explore-"); err != nil {
		return nil, err
	}
	if err = r.make(ctx); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// Close removes the compiled runtime.
func (r *Runtime) Close() error { return os.RemoveAll(r.folder) }

// make writes the sources of the runtime into the folder and compiles them.
func (r *Runtime) make(ctx context.Context) error {
	if err := os.CopyFS(r.folder, runtimeSources); err != nil {
		return err
	}
	if err := os.CopyFS(filepath.Join(r.folder, "asm"), asm.Sources); err != nil {
		return err
	}
	include := filepath.Join(r.folder, "runtime")
	r.program = slices.Concat(ofProgram, []string{"-I", include})
	if err := r.probe(ctx); err != nil {
		return err
	}
	sources := []string{filepath.Join(include, "runtime.c")}
	for _, name := range []string{"context.c", "check.c", "swap_" + r.arch + ".S"} {
		sources = append(sources, filepath.Join(r.folder, "asm", name))
	}
	words := []string{
		"-std=gnu11", "-g", "-gdwarf-4", "-O3", "-fno-pie", "-I", include, "-I", filepath.Join(r.folder, "asm"),
	}
	for _, name := range ofSwap {
		words = append(words, "-Dmarl_fiber_"+name+"=explore_fiber_"+name)
	}
	for _, file := range sources {
		r.objects = append(r.objects, file+".o")
	}
	flags, err := fs.ReadFile(runtimeSources, "runtime/link.flags")
	if err != nil {
		return err
	}
	r.link = strings.Fields(string(flags))
	kind := r.kind()
	compiled.Lock()
	defer compiled.Unlock()
	if known := compiled.objects[kind]; known != nil {
		for i, object := range r.objects {
			if err := os.WriteFile(object, known[i], 0o600); err != nil {
				return err
			}
		}
		return nil
	}
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	made := make([][]byte, len(sources))
	for i, file := range sources {
		g.Go(func() error {
			said, err := r.call(ctx, slices.Concat(words, []string{"-c", file, "-o", r.objects[i]})...)
			if err != nil {
				return fmt.Errorf("the runtime does not build: %w: %s", err, said)
			}
			made[i], err = os.ReadFile(r.objects[i])
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	compiled.objects[kind] = made
	return nil
}

// kind is what the objects of the runtime depend on.
func (r *Runtime) kind() string { return r.arch + " " + strings.Join(r.compiler, " ") }

// compiled has, by Runtime.kind, the objects that this process has made of the runtime and what it uses of the C
// library. To make these takes longer than to grade most submissions.
var compiled = struct {
	sync.Mutex
	objects map[string][][]byte
	library map[string][]byte
}{objects: map[string][][]byte{}, library: map[string][]byte{}}

// library returns the path of one object of what the runtime uses of the C library. Its names are weak: where a program
// defines qsort, it has its own qsort, as if the C library were searched for what is missing.
func (r *Runtime) library(ctx context.Context) (path string, err error) {
	path = filepath.Join(r.folder, "library.o")
	compiled.Lock()
	defer compiled.Unlock()
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if known := compiled.library[r.kind()]; known != nil {
		return path, os.WriteFile(path, known, 0o600)
	}
	if err := sandbox.Library(ctx, r.compiler, path, nil, r.objects); err != nil {
		return "", errors.Join(err, ctx.Err())
	}
	objcopy, err := r.call(ctx, "-print-prog-name=objcopy")
	if err != nil {
		return "", fmt.Errorf("find objcopy: %w: %s", err, objcopy)
	}
	if said, err := exec.CommandContext(ctx, objcopy, "--weaken", path).CombinedOutput(); err != nil {
		return "", fmt.Errorf("have the names of %s weak: %w: %s", filepath.Base(path), err, said)
	}
	compiled.library[r.kind()], err = os.ReadFile(path)
	return path, err
}

// probe tries by which words the compiler marks accesses.
func (r *Runtime) probe(ctx context.Context) error {
	empty := filepath.Join(r.folder, "empty.c")
	if err := os.WriteFile(empty, []byte("int empty;\n"), 0o600); err != nil {
		return err
	}
	object := empty + ".o"
	if said, err := r.call(ctx, "-c", empty, "-o", object); err != nil {
		return fmt.Errorf("the C compiler %s does not work: %w: %s", strings.Join(r.compiler, " "), err, said)
	}
	if _, err := r.call(ctx, slices.Concat(r.program, ofClang, []string{empty, "-o", object})...); err == nil {
		r.program = append(r.program, ofClang...)
		return nil
	}
	if _, err := r.call(ctx, slices.Concat(r.program, []string{empty, "-o", object})...); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("%s: %w", strings.Join(r.compiler, " "), ErrNoInstrumentation)
	}
	r.program = append(r.program, ofGCC...)
	return nil
}

// Words are the words by which the compiler marks the accesses in a file of a program.
func (r *Runtime) Words() []string {
	return slices.DeleteFunc(slices.Clone(r.program), func(word string) bool { return word == "-c" })
}

// Objects are the paths of the runtime's objects.
func (r *Runtime) Objects() []string { return slices.Clone(r.objects) }

// Header is the text of explore.h.
func Header() []byte {
	text, err := runtimeSources.ReadFile("runtime/explore.h")
	if err != nil {
		panic(err) // it is part of this program
	}
	return text
}

// Link links objects of a program with the runtime to the static program at path. What the C library calls inside is
// not the program's: so the objects are joined before the library comes in. The library's object stands first, since
// what begins a program also marks where its variables begin (runtime/globals.c). It returns a *BuildError if they do
// not link.
func (r *Runtime) Link(ctx context.Context, path string, objects []string) error {
	library, err := r.library(ctx)
	if err != nil {
		return err
	}
	joined := path + ".o"
	for _, words := range [][]string{
		slices.Concat([]string{"-r", "-nostdlib", "-o", joined}, objects, r.objects, r.link),
		{
			"-static", "-no-pie", "-nostdlib", "-o", path, library, joined,
			"-Wl,--start-group", "-lgcc", "-lgcc_eh", "-lc", "-Wl,--end-group",
		},
	} {
		if said, err := r.call(ctx, words...); err != nil {
			return unbuilt(err, said)
		}
	}
	return os.Remove(joined)
}

// call calls the compiler, and returns what it said.
func (r *Runtime) call(ctx context.Context, words ...string) (string, error) {
	c := exec.CommandContext(ctx, r.compiler[0], slices.Concat(r.compiler[1:], words)...)
	c.Env = append(os.Environ(), "LC_ALL=C")
	out, err := c.CombinedOutput()
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return strings.TrimSpace(string(out)), err
}

// Build compiles the files, and links them with the runtime. It returns a *BuildError if they do not build. warnings is
// what the compiler said of them.
func (r *Runtime) Build(ctx context.Context, files []string, o BuildOptions) (p *Program, warnings string, err error) {
	p = &Program{Path: o.Keep}
	if p.folder, err = os.MkdirTemp("", "fiberlab-explore-"); err != nil {
		return nil, "", err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.Close())
			p = nil
		}
	}()
	if p.Path == "" {
		p.Path = filepath.Join(p.folder, "program")
	}
	words := []string{"-no-pie", "-o", p.Path}
	var all, beside []string
	for _, file := range files {
		if folder := "-iquote" + filepath.Dir(file); !slices.Contains(beside, folder) {
			beside = append(beside, folder)
		}
	}
	for i, file := range files {
		object := filepath.Join(p.folder, fmt.Sprintf("%d.o", i))
		compile := slices.Concat(r.program, beside)
		for _, macro := range o.Define {
			compile = append(compile, "-D"+macro)
		}
		said, err := r.call(ctx, append(compile, file, "-o", object)...)
		if said != "" {
			all = append(all, said)
		}
		if err != nil {
			return p, "", unbuilt(err, said)
		}
		words = append(words, object)
	}
	if said, err := r.call(ctx, slices.Concat(words, r.objects, r.link)...); err != nil {
		return p, "", unbuilt(err, said)
	}
	return p, strings.Join(all, "\n"), nil
}

// unbuilt is the error of a compiler that said something and ended by err.
func unbuilt(err error, said string) error {
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		return &BuildError{Said: said}
	}
	return err
}
