package asm

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/asm/ctest"
)

// switchSource is the assembly under test.
func switchSource() string { return "swap_" + runtime.GOARCH + ".S" }

// variantsSource is the part of the prober that contains the inline switch under test.
const variantsSource = "testdata/variants.c"

// proberSources are all files of the prober but the assembly under test.
func proberSources() []string {
	sources := []string{"testdata/probe_" + runtime.GOARCH + ".S", "context.c", "check.c", variantsSource}
	for _, name := range []string{"entry", "locals", "prober", "registers", "unwind"} {
		sources = append(sources, "testdata/"+name+".c")
	}
	return sources
}

// compileAll compiles the prober with flags to a program in dir.
func compileAll(dir string, flags ...string) (program string, err error) {
	program = filepath.Join(dir, "prober")
	args := append([]string{"-o", program}, flags...)
	return program, ctest.Compile(append(append(args, proberSources()...), switchSource(), "-lm")...)
}

// buildProber compiles the prober with flags and returns its path.
func buildProber(t *testing.T, flags ...string) string {
	program, err := compileAll(t.TempDir(), flags...)
	require.NoError(t, err)
	return program
}

// parts are the objects of a prober, of which one may be replaced. Several goroutines may use them.
type parts struct {
	dir     string
	here    string
	flags   []string
	sources []string
}

// compileProber compiles the prober with flags, but does not link it.
func compileProber(t *testing.T, flags ...string) *parts {
	here, err := os.Getwd()
	require.NoError(t, err)
	p := &parts{t.TempDir(), here, flags, append(proberSources(), switchSource())}
	for _, source := range p.sources {
		require.NoError(t, p.compile("-c", "-o", p.object(source), source))
	}
	return p
}

func (p *parts) object(source string) string { return filepath.Join(p.dir, filepath.Base(source)+".o") }

// withSwitch links a prober whose assembly is the text given.
func (p *parts) withSwitch(assembly string) (string, error) {
	dir, err := os.MkdirTemp(p.dir, "mutant")
	if err != nil {
		return "", err
	}
	source := filepath.Join(dir, "swap.S")
	if err := os.WriteFile(source, []byte(assembly), 0o644); err != nil {
		return "", err
	}
	return p.link(dir, switchSource(), source)
}

// withInline links a prober whose inline.h is the text given. The functions that contain the inline switch keep no
// frame pointer, because they would restore their caller's frame pointer themselves.
func (p *parts) withInline(header string) (string, error) {
	dir, err := os.MkdirTemp(p.dir, "mutant")
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(variantsSource)
	if err != nil {
		return "", err
	}
	// The source says #include "../inline.h".
	if err := os.Mkdir(filepath.Join(dir, "testdata"), 0o755); err != nil {
		return "", err
	}
	source := filepath.Join(dir, variantsSource)
	if err := os.WriteFile(source, text, 0o644); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(dir, "inline.h"), []byte(header), 0o644); err != nil {
		return "", err
	}
	return p.link(dir, variantsSource, source, "-fomit-frame-pointer")
}

// link makes a prober in dir of all parts but one, and of its replacement, which is compiled with the flags given.
func (p *parts) link(dir, replaced, replacement string, flags ...string) (string, error) {
	program := filepath.Join(dir, "prober")
	args := append(flags, "-o", program, replacement)
	for _, source := range p.sources {
		if source != replaced {
			args = append(args, p.object(source))
		}
	}
	return program, p.compile(append(args, "-lm")...)
}

func (p *parts) compile(args ...string) error {
	first := append([]string{"-I", p.here, "-I", filepath.Join(p.here, "testdata")}, p.flags...)
	return ctest.Compile(append(first, args...)...)
}
