package wordcount

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"fiberlab/cmd/fiberlab/wordcount/wordcounttest"

	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/sched"
	"fiberlab/sched/trace"
)

// eachScheduler calls f with schedulers of every policy and backend, with each of those numbers of
// workers. Each call is a subtest, which fails if a fiber, root, identity or stack is left behind.
func eachScheduler(t *testing.T, workers []int, f func(t *testing.T, cfg sched.Config)) {
	t.Helper()
	for _, policy := range sched.Policies() {
		eachSchedulerOf(t, policy, workers, f)
	}
}

// eachSchedulerOf is eachScheduler for one policy.
func eachSchedulerOf(t *testing.T, policy sched.Policy, workers []int, f func(t *testing.T, cfg sched.Config)) {
	t.Helper()
	for _, backend := range fiber.Backends() {
		for _, n := range workers {
			t.Run(fmt.Sprintf("%v/%v/workers=%d", policy, backend, n), func(t *testing.T) {
				f(t, sched.Config{Workers: n, Policy: policy, Backend: backend})
				requireReleased(t)
			})
		}
	}
}

func requireReleased(t *testing.T) {
	t.Helper()
	require.NoError(t, fiber.Drain())
	require.Equal(t, fiber.Stats{}, fiber.ReadStats(), "something is still held")
}

// awkwardFiles holds what is easily miscounted: words over chunk borders, a word longer than many
// chunks, no newline, nothing at all.
func awkwardFiles() map[string]string {
	random := rand.New(rand.NewPCG(1, 2))
	var long strings.Builder
	for long.Len() < 5*chunkSize {
		long.WriteString(strings.Repeat("xyz世", random.IntN(9)))
		long.WriteString([]string{" ", "\n", "\u3000", "\t\t"}[random.IntN(4)])
	}
	return map[string]string{
		"empty":       "",
		"spaces":      strings.Repeat(" \n", chunkSize),
		"one":         "word",
		"same":        "word word\nword",
		"long":        long.String(),
		"giant":       "a " + strings.Repeat("b", 3*chunkSize+1) + " c",
		"border":      strings.Repeat("x", chunkSize-1) + "\u2003" + "y z",
		"cut":         strings.Repeat(" ", chunkSize-2) + "ab cd",
		"late-binary": strings.Repeat("text ", headSize) + "\x00 \xff\xfe w\xe2\x80",
	}
}

// expected counts by strings.Fields.
func expected(t *testing.T, files []File) *Tally {
	t.Helper()
	want := newTally(files, 3)
	for i, file := range files {
		text, err := os.ReadFile(file.Path)
		require.NoError(t, err)
		want.addAll(i, string(text))
	}
	return &want
}

// addAll counts the words of text for file i.
func (t *Tally) addAll(i int, text string) {
	for _, word := range strings.Fields(text) {
		t.Files[i].Words++
		t.shards[shardOf([]byte(word), len(t.shards))].add([]byte(word))
	}
}

func awkwardTree(t *testing.T) *Tree {
	t.Helper()
	dir := t.TempDir()
	wordcounttest.WriteFiles(t, dir, awkwardFiles())
	tr, err := Walk(t.Context(), dir, nil)
	require.NoError(t, err)
	require.Len(t, tr.Files, len(awkwardFiles()))
	return tr
}

func TestCountSequentially(t *testing.T) {
	tr := awkwardTree(t)
	var done atomic.Int64
	got, err := CountSequentially(t.Context(), tr.Files, Options{Progress: &done})
	require.NoError(t, err)
	require.Empty(t, got.Difference(expected(t, tr.Files)))
	require.Equal(t, tr.Bytes, done.Load())
	require.Empty(t, got.Failed())
}

func TestEverySchedulerCountsTheSame(t *testing.T) {
	tr := awkwardTree(t)
	want := expected(t, tr.Files)
	eachScheduler(t, []int{0, 1, 2, 7}, func(t *testing.T, cfg sched.Config) {
		var done atomic.Int64
		r := trace.NewRecorder(0)
		cfg.Recorder = r
		got, err := Count(t.Context(), tr.Files, Options{Scheduler: cfg, Progress: &done})
		require.NoError(t, err)
		require.Empty(t, got.Difference(want))
		require.Equal(t, tr.Bytes, done.Load())
		require.Equal(t, got.Tasks-1, got.Blocked, "all but one count task wait")
		require.Greater(t, got.Blocked, cfg.Workers)
		require.Len(t, got.Stats.Workers, cfg.Workers+1)
		made := r.Transitions()
		for s := sched.Idle; s <= sched.Running; s++ {
			into := uint64(0)
			for from := sched.Idle; from <= sched.Running; from++ {
				into += made.Of(from, s)
			}
			require.Positive(t, into, "no fiber was ever %v", s)
		}
		for _, name := range TaskNames() {
			require.Positive(t, r.TaskTimes()[name].Tasks, name)
		}
	})
}

func TestNoFiles(t *testing.T) {
	eachScheduler(t, []int{0, 2}, func(t *testing.T, cfg sched.Config) {
		got, err := Count(t.Context(), nil, Options{Scheduler: cfg})
		require.NoError(t, err)
		require.Zero(t, got.Words())
		require.Zero(t, got.Distinct())
	})
}

func TestAFileThatFailsInMidRead(t *testing.T) {
	tr := awkwardTree(t)
	open := wordcounttest.FailingOpener("long", chunkSize+100)
	want, err := CountSequentially(t.Context(), tr.Files, Options{Open: open})
	require.NoError(t, err)
	require.Len(t, want.Failed(), 1)
	eachScheduler(t, []int{2}, func(t *testing.T, cfg sched.Config) {
		got, err := Count(t.Context(), tr.Files, Options{Scheduler: cfg, Open: open})
		require.NoError(t, err)
		require.Empty(t, got.Difference(want))
		require.Len(t, got.Failed(), 1)
		require.Equal(t, "long", filepath.Base(got.Failed()[0].Path))
		require.ErrorIs(t, got.Failed()[0].Err, wordcounttest.ErrBroken)
	})
}

// A context that is cancelled while files are read ends the count with the context's cause.
func TestCountStops(t *testing.T) {
	tr := awkwardTree(t)
	enough := errors.New("that is enough")
	eachScheduler(t, []int{2}, func(t *testing.T, cfg sched.Config) {
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		var opened, after atomic.Int64
		var done atomic.Bool
		_, err := Count(ctx, tr.Files, Options{Scheduler: cfg, Open: func(path string) (io.ReadCloser, error) {
			if done.Load() {
				after.Add(1)
			}
			if opened.Add(1) == 4 {
				cancel(enough)
				done.Store(true)
			}
			return os.Open(path)
		}})
		require.ErrorIs(t, err, enough)
		require.Less(t, after.Load(), int64(FewestLanes), "lanes that had looked already may open one more")
	})
}

// If the context is done before the work begins, no file is opened, and no task waits for a file.
func TestCountStopsBeforeItBegins(t *testing.T) {
	tr := awkwardTree(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	eachScheduler(t, []int{0, 1, 2}, func(t *testing.T, cfg sched.Config) {
		var done atomic.Int64
		_, err := Count(ctx, tr.Files, Options{Scheduler: cfg, Progress: &done})
		require.ErrorIs(t, err, context.Canceled)
		require.Zero(t, done.Load())
	})
	_, err := CountSequentially(ctx, tr.Files, Options{})
	require.ErrorIs(t, err, context.Canceled)
}

// The reading stops in mid-file, where no further file makes the lane look at the context.
func TestCountStopsInAnEndlessFile(t *testing.T) {
	tr := awkwardTree(t)
	eachScheduler(t, []int{1}, func(t *testing.T, cfg sched.Config) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		_, err := Count(ctx, tr.Files, Options{Scheduler: cfg,
			Open: func(string) (io.ReadCloser, error) { return endless{cancel}, nil }})
		require.ErrorIs(t, err, context.Canceled)
	})
}

// endless is a file without an end, and without white space.
type endless struct{ read func() }

func (e endless) Read(p []byte) (int, error) {
	e.read()
	return copy(p, strings.Repeat("x", len(p))), nil
}

func (endless) Close() error { return nil }

// A task that panics, where the scheduler survives that, ends the count with an error: neither with a
// wrong tally nor never.
func TestATaskThatPanics(t *testing.T) {
	tr := awkwardTree(t)
	eachScheduler(t, []int{0, 2}, func(t *testing.T, cfg sched.Config) {
		var panics atomic.Int64
		cfg.Panicked = func(any, []byte) { panics.Add(1) }
		var opened atomic.Int64
		_, err := Count(t.Context(), tr.Files, Options{Scheduler: cfg, Open: func(path string) (io.ReadCloser, error) {
			if opened.Add(1) == 3 {
				panic("the third file")
			}
			return os.Open(path)
		}})
		require.ErrorContains(t, err, "a read task has panicked")
		require.Equal(t, int64(1), panics.Load())
	})
}

func TestCountRefusesWhatSchedRunRefuses(t *testing.T) {
	_, err := Count(t.Context(), nil, Options{Scheduler: sched.Config{Workers: -1}})
	require.ErrorIs(t, err, sched.ErrNegative)
	require.NoError(t, sched.Run(sched.Config{}, func() {
		_, err = Count(t.Context(), nil, Options{})
	}))
	require.ErrorIs(t, err, sched.ErrBound)
	requireReleased(t)
}

// Under Stealing each worker begins its share of the tasks, however busy the machine is and whichever
// worker is awake first.
func TestEachWorkerBeginsItsShare(t *testing.T) {
	tr := awkwardTree(t)
	var stop atomic.Bool
	var load sync.WaitGroup
	for range 2 * runtime.GOMAXPROCS(0) {
		load.Add(1)
		go func() {
			defer load.Done()
			runtime.LockOSThread()
			for !stop.Load() {
			}
		}()
	}
	defer load.Wait()
	defer stop.Store(true)
	eachSchedulerOf(t, sched.Stealing, []int{0, 2, 3}, func(t *testing.T, cfg sched.Config) {
		got, err := Count(t.Context(), tr.Files, Options{Scheduler: cfg})
		require.NoError(t, err)
		var begun []int
		for _, w := range got.Stats.Workers[:max(cfg.Workers, 1)] {
			begun = append(begun, int(w.Tasks))
		}
		require.Positive(t, slices.Min(begun), "%v", begun)
		require.LessOrEqual(t, slices.Max(begun)-slices.Min(begun), 3, "%v", begun)
	})
}
