package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"fiberlab/cmd/fiberlab/wordcount/wordcounttest"

	"github.com/stretchr/testify/require"

	"fiberlab/asm/ctest"
	"fiberlab/bench"
	"fiberlab/bench/submission"
	"fiberlab/cmd/fiberlab/wordcount"
	"fiberlab/fiber"
	"fiberlab/sched"
	"fiberlab/sched/uring"
)

// decode reads the one JSON document that stdout must be.
func decode(t *testing.T, stdout string) report {
	t.Helper()
	var r report
	d := json.NewDecoder(strings.NewReader(stdout))
	d.DisallowUnknownFields()
	require.NoError(t, d.Decode(&r), stdout)
	_, err := d.Token()
	require.ErrorIs(t, err, io.EOF, "something stands behind the document")
	return r
}

func smallTree(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	wordcounttest.WriteFiles(t, dir, map[string]string{"a": "one two two\n", "b/c": "three\n", "binary": "\x00"})
	return dir
}

func TestRunInAPipe(t *testing.T) {
	dir := smallTree(t)
	got := run(t, "run", "--quick", dir)
	require.Zero(t, got.code, got.stderr)
	require.NotContains(t, got.stdout+got.stderr, "\x1b", "an escape sequence")
	require.NotContains(t, got.stdout+got.stderr, "\r")
	require.NotContains(t, got.stdout, "│")
	require.Contains(t, got.stdout, dir+"\n2 text files, 0.0 MB; 1 not text\n")
	require.Contains(t, got.stdout, "; policy: stealing\n")
	for _, name := range []string{"plain loop", "asm", "ucontext", "goroutine"} {
		require.Regexp(t, `(?m)^`+name+` +2 +4 +3( +[-0-9]+){3} +\d+\.\d\d s$`, got.stdout)
	}
	require.Regexp(t, `^All agree, file by file and word by word: .* asm, ucontext, goroutine counted 4 words\.
Fibers became Idle [1-9]\d* times, Yielded [1-9]\d* times, Waiting [1-9]\d* times, `+
		`Queued [1-9]\d* times, Running [1-9]\d* times\.
A switch costs [\d,]+ ns by asm, [\d,]+ ns by ucontext, [\d,]+ ns by goroutine, [\d,]+ ns by threads\.
`, got.stdout, "what the run has shown comes first")
	for _, m := range bench.Mechanisms() {
		require.Regexp(t, `(?m)^(`+m.Name+` +[\d.,]+ +[\d.,]+ to |Skipped: `+m.Name+`: )`, got.stdout)
	}
	require.Contains(t, got.stderr, "goroutine: 4 words")
}

func TestRunAsJSON(t *testing.T) {
	dir := smallTree(t)
	got := run(t, "run", "--json", "--rounds", "2", dir)
	require.Zero(t, got.code, got.stderr)
	require.Empty(t, got.stderr)
	r := decode(t, got.stdout)
	require.Equal(t, dir, r.Pipeline.Dir)
	require.True(t, r.Pipeline.Agree)
	require.Equal(t, runtime.GOMAXPROCS(0), r.Pipeline.Workers)
	require.Equal(t, 2, r.Pipeline.Files)
	require.Equal(t, 1, r.Pipeline.OtherFiles)
	require.Equal(t, 4, r.Pipeline.Words)
	require.Equal(t, 3, r.Pipeline.Distinct)
	require.Contains(t, got.stdout, `"unreadable": []`)
	for i, b := range fiber.Backends() {
		br := r.Pipeline.Backends[i]
		tasks := 2 + 2*max(
			runtime.GOMAXPROCS(0), wordcount.FewestLanes,
		) + max(
			runtime.GOMAXPROCS(0), wordcount.FewestCountTasks,
		)
		require.Equal(
			t,
			countReport{
				Backend: b.String(), Policy: "stealing", Files: 2, Words: 4, Distinct: 3, Tasks: tasks,
				Blocked: tasks - 1, Switches: br.Switches, Seconds: br.Seconds, Agrees: true, Entered: br.Entered,
				Workers: br.Workers, Stages: br.Stages,
			},
			br,
		)
		require.Len(t, br.Entered, 5)
		for _, e := range br.Entered {
			require.Positive(t, e.Count, e.State)
		}
		of := map[string]int{}
		for _, s := range br.Stages {
			of[s.Name] = s.Tasks
			require.Positive(t, s.Running, s.Name)
			require.Positive(t, s.Blocked, s.Name)
		}
		lanes := max(runtime.GOMAXPROCS(0), wordcount.FewestLanes)
		require.Equal(t, map[string]int{"read": lanes, "split": lanes, "count": tasks - 2 - 2*lanes, "clock": 1}, of)
		require.Len(t, br.Workers, runtime.GOMAXPROCS(0)+1)
		begun, switches := 0, 0
		for i, w := range br.Workers {
			require.Equal(t, i, w.Worker)
			require.Equal(t, i == runtime.GOMAXPROCS(0), w.Bound)
			begun, switches = begun+w.Tasks, switches+w.Switches
		}
		require.Equal(t, tasks-1, begun, "the bound goroutine has begun them, and is one itself")
		require.LessOrEqual(
			t, switches, br.Switches, "some come when the workers end, and a fiber may be resumed without a switch",
		)
		require.Positive(t, switches)
		require.Greater(t, br.Switches, tasks)
	}
	require.Len(t, r.SwitchCost.Rows, len(bench.Mechanisms())-len(r.SwitchCost.Skipped))
}

func TestChoosingBackends(t *testing.T) {
	got := newLab(
		nil, nil,
	).test(t, "run", "--json", "--no-table", "--backend", "goroutine,asm", "--backend", "goroutine", smallTree(t))
	require.Zero(t, got.code, got.stderr)
	r := decode(t, got.stdout)
	require.Len(t, r.Pipeline.Backends, 2)
	require.Equal(t, "goroutine", r.Pipeline.Backends[0].Backend)
	require.Equal(t, "asm", r.Pipeline.Backends[1].Backend)
	require.Nil(t, r.SwitchCost)
}

// costs reads the report that stdout must be.
func costs(t *testing.T, stdout string) *bench.Report {
	t.Helper()
	r, err := bench.ReadReport([]byte(stdout), "stdout")
	require.NoError(t, err, stdout)
	return r
}

// A workload is named though the machine lacks all of its rivals.
func TestBenchWithoutRivals(t *testing.T) {
	t.Setenv("CC", "no-such-compiler")
	t.Setenv("CXX", "no-such-compiler")
	got := newLab(nil, nil).test(t, "bench", "explore")
	require.Zero(t, got.code, got.stderr)
	require.Contains(t, got.stdout, "this machine lacks each rival.\nSkipped: explore: ")
}

func TestBenchAlone(t *testing.T) {
	got := newLab(nil, nil).test(t, "bench", "--json", "--rounds", "2")
	require.Zero(t, got.code, got.stderr)
	r := costs(t, got.stdout)
	require.Len(t, r.Groups, 1)
	require.Equal(t, "switch", r.Groups[0].Name)
	require.NotEmpty(t, r.Machine.Kernel)

	file := filepath.Join(t.TempDir(), "costs.json")
	require.NoError(t, os.WriteFile(file, []byte(got.stdout), 0o600))
	got = newLab(nil, nil).test(t, "bench", "compare", file, file)
	require.Zero(t, got.code, got.stderr)
	require.NotContains(t, got.stdout, "Slower")
	require.NotContains(t, got.stdout, "The machines differ")
	require.Contains(t, got.stdout, "switch ucontext")

	got = newLab(nil, nil).test(t, "bench", "--rounds", "1")
	require.Zero(t, got.code, got.stderr)
	if ctest.Emulated() {
		require.Regexp(t, `(?m)^asm +[1-9]\d+$`, got.stdout, "instructions stand in the place of times")
		return
	}
	require.Contains(t, got.stdout, "A switch by asm takes ")
}

// The figures of an emulator are marked, in each table.
func TestFiguresOfAnEmulator(t *testing.T) {
	emulator := filepath.Join(t.TempDir(), "qemu")
	require.NoError(t, os.WriteFile(emulator, []byte("#!/bin/sh\nexec \"$@\"\n"), 0o700))
	t.Setenv("FIBERLAB_EXEC", emulator)
	got := newLab(nil, nil).test(t, "run", "--rounds", "1", "--backend", "asm", smallTree(t))
	require.Zero(t, got.code, got.stderr)
	require.Contains(t, got.stdout, emulated)

	r := &bench.Report{Machine: bench.Machine{Emulated: true}, Groups: []bench.Group{{
		Title: "A switch", Skipped: []bench.Skipped{{Name: "boost", Why: "no header"}},
	}}}
	costs, changes := &page{}, &page{}
	writeCosts(costs, r)
	require.Contains(t, costs.text.String(), emulated)
	require.Contains(t, costs.text.String(), "Skipped: boost: no header")
	writeChanges(changes, r, r, nil)
	require.Contains(t, changes.text.String(), emulated)
}

// The swap of a lab is measured beside the project's; one of another architecture, or one that does not work, gets a
// clear error.
func TestBenchOfASwap(t *testing.T) {
	labs := filepath.Join("..", "..", "labs")
	got := newLab(
		nil, nil,
	).test(t, "bench", "--rounds", "1", "--json", "--swap", filepath.Join(labs, submission.Lab().Number, "reference"))
	require.Zero(t, got.code, got.stderr)
	var names []string
	for _, row := range costs(t, got.stdout).Groups[0].Rows {
		names = append(names, row.Name)
	}
	require.Equal(t, []string{"asm", "asm-nofp", "ucontext", "yours"}, names)

	if ctest.Emulated() {
		return // each build takes many seconds there
	}
	got = newLab(nil, nil).test(t, "bench", "--swap", filepath.Join(labs, submission.Lab().Number))
	require.Equal(t, exitFailed, got.code)
	requireOneLine(t, got.stderr)
	require.Contains(
		t, got.stderr, "the swap does not work: of 1000 swaps there, 1000 were made and 0 arrived: fiberlab grade 0",
	)
	require.Empty(t, got.stdout)

	other := map[string]string{"amd64": "03", "arm64": "02"}[runtime.GOARCH]
	got = newLab(nil, nil).test(t, "bench", "--swap", filepath.Join(labs, other))
	require.Equal(t, 3, got.code)
	require.Contains(
		t, got.stderr,
		"the files do not build: they must hold the swap of lab "+submission.Lab().Number+", for "+runtime.GOARCH,
	)
	require.Empty(t, got.stdout)
}

// A count that is wrong on one backend, here because it reads other files, must make the command fail and
// name the backend.
func TestAWrongCountFails(t *testing.T) {
	for name, c := range map[string]struct {
		file, text string // what that file reads like
		message    string
	}{
		"a word dropped":  {"a", "one two", "2 words in"},
		"a word twice":    {"c", "three three", "2 words in"},
		"a word mistaken": {"a", "one one two", `2 times the word "one", not 1`},
		"a word cut":      {"c", "thre", `1 times the word "thre", not 0`},
		"a file vanished": {"c", "", "0 words in"},
	} {
		for _, format := range []string{"text", "json"} {
			t.Run(name+" "+format, func(t *testing.T) {
				l := newLab(nil, nil)
				l.countOnFibers = func(
					ctx context.Context, files []wordcount.File, o wordcount.Options,
				) (*wordcount.Result, error) {
					if o.Scheduler.Backend == fiber.Ucontext {
						o.Open = func(path string) (io.ReadCloser, error) {
							if filepath.Base(path) == c.file {
								return io.NopCloser(strings.NewReader(c.text)), nil
							}
							return os.Open(path)
						}
					}
					return wordcount.Count(ctx, files, o)
				}
				args := []string{"run", "--no-table", smallTree(t)}
				if format == "json" {
					args = append(args, "--json")
				}
				got := l.test(t, args...)
				require.Equal(t, exitFailed, got.code)
				require.Contains(t, got.stderr, "ucontext disagrees with the plain count: "+c.message)
				require.NotContains(t, got.stderr, "asm disagrees")
				if format == "json" {
					r := decode(t, got.stdout)
					require.False(t, r.Pipeline.Agree)
					require.True(t, r.Pipeline.Backends[0].Agrees)
					require.False(t, r.Pipeline.Backends[1].Agrees)
				} else {
					require.Contains(t, got.stdout, "They do NOT agree: ")
				}
			})
		}
	}
}

// Every policy that exists counts on every backend in one run. Labels, JSON and trace files tell them apart.
func TestAllPoliciesInOneRun(t *testing.T) {
	dir, tree := t.TempDir(), smallTree(t)
	var flags []string
	for _, p := range sched.Policies() {
		flags = append(flags, "--policy", p.String())
	}
	args := append([]string{"run", "--no-table", "--states", "--trace", dir + "/t.json"}, append(flags, tree)...)
	got := newLab(nil, nil).test(t, append(args, "--json")...)
	require.Zero(t, got.code, got.stderr)
	r := decode(t, got.stdout)
	require.Len(t, r.Pipeline.Backends, len(sched.Policies())*len(fiber.Backends()))
	i := 0
	for _, p := range sched.Policies() {
		for _, b := range fiber.Backends() {
			c := r.Pipeline.Backends[i]
			require.Equal(t, []string{b.String(), p.String()}, []string{c.Backend, c.Policy})
			require.True(t, c.Agrees)
			i++
		}
	}
	for _, s := range settings(fiber.Backends(), sched.Policies()) {
		require.FileExists(t, filepath.Join(dir, "t"+s.fileInfix()+".json"))
	}

	got = newLab(nil, nil).test(t, args...)
	require.Zero(t, got.code, got.stderr)
	require.Contains(t, got.stdout, "; policy: "+strings.Join(policyNames(), ", ")+"\n")
	for _, s := range settings(fiber.Backends(), sched.Policies()) {
		require.Regexp(t, `(?m)^`+s.label+` +2 +4 +3 `, got.stdout)
	}
}

func TestSettings(t *testing.T) {
	const other = sched.Policy(200)
	one := settings([]fiber.Backend{fiber.Asm, fiber.Goroutine}, []sched.Policy{sched.Stealing})
	require.Equal(t, []setting{{fiber.Asm, sched.Stealing, "asm"}, {fiber.Goroutine, sched.Stealing, "goroutine"}}, one)
	two := settings([]fiber.Backend{fiber.Asm}, []sched.Policy{sched.Stealing, other})
	require.Equal(t, []setting{{fiber.Asm, sched.Stealing, "asm stealing"}, {fiber.Asm, other, "asm Policy(200)"}}, two)
	require.Equal(t, ".asm.stealing", two[0].fileInfix())
}

// What sched.New refuses is one line that names the count and the remedy.
func TestASchedulerThatIsRefused(t *testing.T) {
	l := newLab(nil, nil)
	l.countOnFibers = func(ctx context.Context, files []wordcount.File, o wordcount.Options) (*wordcount.Result, error) {
		o.Scheduler.MaxIdle = -1
		return wordcount.Count(ctx, files, o)
	}
	got := l.test(t, "run", "--no-table", "--backend", "goroutine", smallTree(t))
	require.Equal(t, exitFailed, got.code)
	last := got.stderr[strings.LastIndex(strings.TrimSpace(got.stderr), "\n")+1:]
	requireOneLine(t, last)
	require.Contains(t, last, "word count on goroutine under stealing: ")
	require.Contains(t, last, "Config.MaxIdle is -1: a negative count: give 0 or more")
	require.Empty(t, got.stdout)
}

func TestUnreadableFilesAreNamed(t *testing.T) {
	dir := smallTree(t)
	for _, c := range []struct {
		readable int // how often the file can be opened and read to its end
		words    int
	}{
		{0, 1}, // not even its head
		{1, 4}, // its head, but not its end: "one two t" and the other file
	} {
		for _, format := range []string{"--json", "--json=false"} {
			broken, opened := wordcounttest.FailingOpener("a", 9), 0
			l := newLab(nil, nil)
			l.open = func(path string) (io.ReadCloser, error) {
				if filepath.Base(path) == "a" {
					if opened++; opened <= c.readable {
						return os.Open(path)
					}
				}
				return broken(path)
			}
			got := l.test(t, "run", "--no-table", dir, format)
			require.Zero(t, got.code, got.stderr)
			if format != "--json" {
				require.Contains(t, got.stdout, "not read: "+dir+"/a: "+wordcounttest.ErrBroken.Error()+"\n")
				continue
			}
			r := decode(t, got.stdout)
			require.True(t, r.Pipeline.Agree)
			require.Equal(t, 1, r.Pipeline.Files)
			require.Equal(t, c.words, r.Pipeline.Words)
			require.Equal(
				t, []unreadable{{filepath.Join(dir, "a"), wordcounttest.ErrBroken.Error()}}, r.Pipeline.Unreadable,
			)
		}
	}
}

func TestNothingReadableFails(t *testing.T) {
	l := newLab(nil, nil)
	l.open = func(string) (io.ReadCloser, error) { return nil, wordcounttest.ErrBroken }
	got := l.test(t, "run", "--no-table", smallTree(t))
	require.Equal(t, exitFailed, got.code)
	requireOneLine(t, got.stderr)
	require.Contains(t, got.stderr, "3 could not be read")
}

// The signal comes while the table is measured, which would take hours.
func TestAnInterruptEndsTheRun(t *testing.T) {
	c := command("run", "--rounds", "1000000", smallTree(t))
	var stdout bytes.Buffer
	c.Stdout = &stdout
	stderr, err := c.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	var seen strings.Builder
	interrupted := false
	buffer := make([]byte, 4096)
	for err == nil {
		var n int
		n, err = stderr.Read(buffer)
		seen.Write(buffer[:n])
		if !interrupted && strings.Contains(seen.String(), "goroutine: 4 words") {
			interrupted = true
			require.NoError(t, c.Process.Signal(os.Interrupt))
		}
	}
	require.ErrorIs(t, err, io.EOF)
	require.Error(t, c.Wait())
	require.Equal(t, exitInterrupted, c.ProcessState.ExitCode(), seen.String())
	require.True(t, strings.HasSuffix(seen.String(), "\nfiberlab: interrupted\n"), seen.String())
	require.Empty(t, stdout.String())
}

func TestTheDefaultIsTheStandardLibrary(t *testing.T) {
	dir, err := goSources(t.Context())
	require.NoError(t, err)
	require.FileExists(t, filepath.Join(dir, "runtime", "proc.go"))

	t.Setenv("PATH", t.TempDir())
	got := newLab(nil, nil).test(t, "run")
	require.Equal(t, exitFailed, got.code)
	requireOneLine(t, got.stderr)
	require.Contains(t, got.stderr, "no go command on PATH; install Go, or name a directory")
}

// Whatever reads the files, the same words are counted.
func TestRunReadsByEachDriver(t *testing.T) {
	dir := t.TempDir()
	for i := range 20 {
		wordcounttest.WriteFiles(t, dir, map[string]string{fmt.Sprint(i): strings.Repeat("some words here\n", i*100)})
	}
	for _, driver := range driverNames() {
		t.Run(driver, func(t *testing.T) {
			got := newLab(nil, nil).test(t, "run", "--no-table", "--backend", "asm,goroutine", "--io", driver, dir)
			if why := uring.Probe().Reason; driver == uring.Uring.String() && why != nil {
				require.Equal(t, exitUsage, got.code)
				require.Contains(t, got.stderr, "no io_uring")
				t.Log(why)
				return
			}
			require.Zero(t, got.code, got.stderr)
		})
	}
}
