// Package examples_test runs the programs in examples/ as a visitor does, on each backend, and compares what they
// print with what their comments say.
package examples_test

import (
	"bytes"
	"context"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fiberlab/asm/ctest"
	"fiberlab/fiber"
)

const folder = "../../examples"

// timeout ends an example that hangs. All of them take milliseconds.
const timeout = 2 * time.Minute

// inexact is a number that is another one on another machine.
var inexact = regexp.MustCompile(`about [\d.]+`)

// comment returns the package comment of an example.
func comment(t *testing.T, name string) string {
	t.Helper()
	source := filepath.Join(folder, name, "main.go")
	parsed, err := parser.ParseFile(token.NewFileSet(), source, nil, parser.ParseComments|parser.PackageClauseOnly)
	require.NoError(t, err)
	return parsed.Doc.Text()
}

// printed returns the output in the comment of an example: the indented lines below "It prints:".
func printed(t *testing.T, name string) string {
	t.Helper()
	_, block, found := strings.Cut(comment(t, name), "\nIt prints:\n\n")
	require.True(t, found, "the comment has no output")
	var lines []string
	for line := range strings.Lines(block) {
		line, indented := strings.CutPrefix(line, "\t")
		if !indented {
			break
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "")
}

func names(t *testing.T) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	for _, e := range entries {
		if e.IsDir() {
			list = append(list, e.Name())
		}
	}
	return list
}

// buildFlags are the flags of this test's own build, so that the examples need no other packages to be compiled.
func buildFlags() (flags []string) {
	info, _ := debug.ReadBuildInfo()
	for _, s := range info.Settings {
		if s.Key == "-tags" || s.Key == "-race" {
			flags = append(flags, s.Key+"="+s.Value)
		}
	}
	return flags
}

// run runs an example on a backend.
func run(t *testing.T, program string, backend fiber.Backend, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	words := append(strings.Fields(os.Getenv("FIBERLAB_EXEC")), program)
	c := exec.CommandContext(ctx, words[0], append(words[1:], args...)...)
	c.Env = append(os.Environ(), fiber.EnvBackend+"="+backend.String())
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	require.NoError(t, c.Run(), "%s", stderr.String())
	require.Empty(t, stderr.String())
	return stdout.String()
}

// Each example prints what its comment says, on each backend. In an emulator each is run on one of them.
func TestExamples(t *testing.T) {
	dir := t.TempDir()
	words := slices.Concat([]string{"build"}, buildFlags(), []string{"-o", dir, folder + "/..."})
	out, err := exec.Command("go", words...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	for i, name := range names(t) {
		t.Run(name, func(t *testing.T) {
			want := printed(t, name)
			var args []string
			if name == "quicksort" {
				args = []string{"20000"} // in the comment there are a million
				want = strings.Replace(want, "1000000", args[0], 1)
			}
			if name == "timeline" {
				args = []string{t.TempDir()}
				want = strings.ReplaceAll(want, "build/", args[0]+"/")
			}
			for k, backend := range fiber.Backends() {
				if ctest.Emulated() && k != i%len(fiber.Backends()) {
					continue
				}
				got := run(t, filepath.Join(dir, name), backend, args...)
				switch {
				case name == "cfibers" && backend == fiber.Goroutine:
					require.Equal(
						t,
						`fiber: new "reader": unknown backend for a C body: goroutine fibers run Go functions only: `+
							"use asm or ucontext\n",
						got,
					)
				case name == "policies":
					require.Regexp(t, `stealing: .* about 0 fibers continued`, got)
					fallthrough
				default:
					require.Equal(
						t, inexact.ReplaceAllString(want, "about"), inexact.ReplaceAllString(got, "about"), "on %v",
						backend,
					)
				}
			}
			if name == "files" { // a copy inside of what is copied would have no end
				from := t.TempDir()
				words := append(strings.Fields(os.Getenv("FIBERLAB_EXEC")), filepath.Join(dir, name), from, from+"/sub")
				out, err := exec.Command(words[0], words[1:]...).CombinedOutput()
				require.Error(t, err)
				require.Contains(t, string(out), from+"/sub is in "+from+": choose a folder outside of it")
			}
		})
	}
}

// The table of examples/README.md has each example, and no example is long.
func TestTheTable(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(folder, "README.md"))
	require.NoError(t, err)
	rows := regexp.MustCompile(`(?m)^\| \[`).FindAllString(string(text), -1)
	require.Len(t, rows, len(names(t)))
	for _, name := range names(t) {
		require.Contains(t, string(text), fmt.Sprintf("\n| [`%s`](%s/main.go) | ", name, name))
		source, err := os.ReadFile(filepath.Join(folder, name, "main.go"))
		require.NoError(t, err)
		require.LessOrEqual(t, bytes.Count(source, []byte("\n")), 150, name)
		require.Regexp(t, "^"+strings.ToUpper(name[:1])+name[1:]+" ", comment(t, name))
	}
}
