package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/bench"
	"fiberlab/fiber"
	"fiberlab/sched"
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
	writeFiles(t, dir, map[string]string{"a": "one two two\n", "b/c": "three\n", "binary": "\x00"})
	return dir
}

func TestRunInAPipe(t *testing.T) {
	dir := smallTree(t)
	got := run(t, "run", "--quick", dir)
	require.Zero(t, got.code, got.stderr)
	require.NotContains(t, got.stdout+got.stderr, "\x1b", "an escape sequence")
	require.NotContains(t, got.stdout+got.stderr, "\r")
	require.NotContains(t, got.stdout, "│")
	require.Contains(t, got.stdout, dir+"\n2 text files, 0.0 MB; 1 others left alone\n")
	for _, name := range []string{"plain loop", "asm", "ucontext", "goroutine"} {
		require.Regexp(t, `(?m)^`+name+` +2 +4 +3( +[-0-9]+){3} +\d+\.\d\d s$`, got.stdout)
	}
	require.Contains(t, got.stdout, "All agree")
	for _, m := range bench.Mechanisms() {
		require.Regexp(t, `(?m)^`+m.Name+`( +[\d.,]+){4}$`, got.stdout)
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
		tasks := 2 + 2*max(runtime.GOMAXPROCS(0), fewestLanes) + max(runtime.GOMAXPROCS(0), fewestCounts)
		require.Equal(t, backendReport{Backend: b.String(), Files: 2, Words: 4, Distinct: 3, Tasks: tasks, Blocked: tasks - 1,
			Switches: br.Switches, Seconds: br.Seconds, Agrees: true, Workers: br.Workers, Stages: br.Stages}, br)
		of := map[string]int{}
		for _, s := range br.Stages {
			of[s.Name] = s.Tasks
			require.Positive(t, s.Running, s.Name)
			require.Positive(t, s.Blocked, s.Name)
		}
		lanes := max(runtime.GOMAXPROCS(0), fewestLanes)
		require.Equal(t, map[string]int{"read": lanes, "split": lanes, "count": tasks - 2 - 2*lanes, "clock": 1}, of)
		require.Len(t, br.Workers, runtime.GOMAXPROCS(0)+1)
		begun, switches := 0, 0
		for i, w := range br.Workers {
			require.Equal(t, i, w.Worker)
			require.Equal(t, i == runtime.GOMAXPROCS(0), w.Bound)
			begun, switches = begun+w.Tasks, switches+w.Switches
		}
		require.Equal(t, tasks-1, begun, "the bound goroutine has begun them, and is one itself")
		require.InDelta(t, br.Switches, switches, float64(len(br.Workers)), "the last ones come when the workers end")
		require.Greater(t, br.Switches, tasks)
	}
	require.Len(t, r.SwitchCost, len(bench.Mechanisms()))
	require.Equal(t, 1.0, r.SwitchCost[0].Ratio)
}

func TestChoosingBackends(t *testing.T) {
	got := newLab(nil, nil).test(t, "run", "--json", "--no-table", "--backend", "goroutine,asm", "--backend", "goroutine", smallTree(t))
	require.Zero(t, got.code, got.stderr)
	r := decode(t, got.stdout)
	require.Len(t, r.Pipeline.Backends, 2)
	require.Equal(t, "goroutine", r.Pipeline.Backends[0].Backend)
	require.Equal(t, "asm", r.Pipeline.Backends[1].Backend)
	require.Nil(t, r.SwitchCost)
}

func TestBenchAlone(t *testing.T) {
	got := newLab(nil, nil).test(t, "bench", "--json", "--rounds", "1")
	require.Zero(t, got.code, got.stderr)
	r := decode(t, got.stdout)
	require.Nil(t, r.Pipeline)
	require.Len(t, r.SwitchCost, len(bench.Mechanisms()))
}

// A pipeline that miscounts on one backend, by fault, must make the command fail and name the backend.
func TestAWrongCountFails(t *testing.T) {
	for name, c := range map[string]struct {
		fault func(*tally)
		text  string
	}{
		"a word dropped":  {func(c *tally) { c.perFile[0]--; *c.word("two")-- }, "2 words in"},
		"a word twice":    {func(c *tally) { c.perFile[1]++; *c.word("three")++ }, "2 words in"},
		"a word mistaken": {func(c *tally) { *c.word("two")--; *c.word("one")++ }, `2 times the word "one", not 1`},
		"a word cut":      {func(c *tally) { *c.word("thre")++; delete(c.shards[shardOf([]byte("three"), len(c.shards))], "three") }, `1 times the word "thre", not 0`},
	} {
		for _, format := range []string{"text", "json"} {
			t.Run(name+" "+format, func(t *testing.T) {
				l := newLab(nil, nil)
				l.countOnFibers = func(ctx context.Context, cfg sched.Config, files []textFile, open opener,
					done *atomic.Int64) (*tally, activity, error) {
					got, active, err := countOnFibers(ctx, cfg, files, open, done)
					if cfg.Backend == fiber.Ucontext {
						c.fault(got)
					}
					return got, active, err
				}
				args := []string{"run", "--no-table", smallTree(t)}
				if format == "json" {
					args = append(args, "--json")
				}
				got := l.test(t, args...)
				require.Equal(t, exitFailed, got.code)
				require.Contains(t, got.stderr, "ucontext disagrees with the plain count: "+c.text)
				require.NotContains(t, got.stderr, "asm disagrees")
				if format == "json" {
					r := decode(t, got.stdout)
					require.False(t, r.Pipeline.Agree)
					require.True(t, r.Pipeline.Backends[0].Agrees)
					require.False(t, r.Pipeline.Backends[1].Agrees)
				} else {
					require.Contains(t, got.stdout, "They do NOT agree.")
				}
			})
		}
	}
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
			broken, opened := failingOpener("a", 9), 0
			l := newLab(nil, nil)
			l.open = func(path string) (io.ReadCloser, error) {
				if filepath.Base(path) == "a" {
					if opened++; opened <= c.readable {
						return openFile(path)
					}
				}
				return broken(path)
			}
			got := l.test(t, "run", "--no-table", dir, format)
			require.Zero(t, got.code, got.stderr)
			if format != "--json" {
				require.Contains(t, got.stdout, "not read: "+dir+"/a: "+errBroken.Error()+"\n")
				continue
			}
			r := decode(t, got.stdout)
			require.True(t, r.Pipeline.Agree)
			require.Equal(t, 1, r.Pipeline.Files)
			require.Equal(t, c.words, r.Pipeline.Words)
			require.Equal(t, []unreadable{{filepath.Join(dir, "a"), errBroken.Error()}}, r.Pipeline.Unreadable)
		}
	}
}

func TestNothingReadableFails(t *testing.T) {
	l := newLab(nil, nil)
	l.open = func(string) (io.ReadCloser, error) { return nil, errBroken }
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
