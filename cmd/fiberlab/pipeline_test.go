package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/sched"
	"fiberlab/sched/fibersync"
)

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

// expected counts by the library's own words.
func expected(t *testing.T, files []textFile) *tally {
	t.Helper()
	want := newTally(len(files), 3)
	for i, file := range files {
		text, err := os.ReadFile(file.path)
		require.NoError(t, err)
		for _, word := range strings.Fields(string(text)) {
			want.add(i, []byte(word))
		}
	}
	return want
}

func awkwardTree(t *testing.T) tree {
	t.Helper()
	dir := t.TempDir()
	writeFiles(t, dir, awkwardFiles())
	tr, err := walk(t.Context(), dir, openFile)
	require.NoError(t, err)
	require.Len(t, tr.text, len(awkwardFiles()))
	return tr
}

// requireReleased drains the pool and makes sure that no fiber, root, identity or stack is left.
func requireReleased(t *testing.T) {
	t.Helper()
	require.NoError(t, release())
}

func TestPlainCount(t *testing.T) {
	tr := awkwardTree(t)
	var done atomic.Int64
	got, err := countPlainly(t.Context(), tr.text, openFile, &done)
	require.NoError(t, err)
	require.Empty(t, got.difference(expected(t, tr.text), tr.text))
	require.Equal(t, tr.bytes, done.Load())
}

func TestEveryBackendCountsTheSame(t *testing.T) {
	tr := awkwardTree(t)
	want := expected(t, tr.text)
	for _, b := range fiber.Backends() {
		for _, workers := range []int{0, 1, 2, 7} {
			t.Run(fmt.Sprintf("%v/workers=%d", b, workers), func(t *testing.T) {
				var done atomic.Int64
				r := sched.NewRecorder(0)
				got, active, err := countOnFibers(t.Context(), sched.Config{Workers: workers, Backend: b, Recorder: r},
					tr.text, openFile, &done)
				require.NoError(t, err)
				require.Empty(t, got.difference(want, tr.text))
				require.Equal(t, tr.bytes, done.Load())
				require.Equal(t, active.tasks-1, active.blocked, "all but the count task wait")
				require.Greater(t, active.blocked, workers)
				for s := sched.Idle; s <= sched.Running; s++ {
					require.True(t, occurred(s, r.Transitions()), s)
				}
				requireReleased(t)
			})
		}
	}
}

func TestAFileThatFailsInMidRead(t *testing.T) {
	tr := awkwardTree(t)
	open := failingOpener("long", chunkSize+100)
	var done atomic.Int64
	want, err := countPlainly(t.Context(), tr.text, open, &done)
	require.NoError(t, err)
	require.Len(t, want.failures, 1)
	for _, b := range fiber.Backends() {
		got, _, err := countOnFibers(t.Context(), sched.Config{Workers: 2, Backend: b}, tr.text, open, &done)
		require.NoError(t, err)
		require.Empty(t, got.difference(want, tr.text), b)
		require.Len(t, got.failures, 1)
		for i, err := range got.failures {
			require.Equal(t, "long", filepath.Base(tr.text[i].path))
			require.ErrorIs(t, err, errBroken)
		}
	}
	requireReleased(t)
}

func TestThePipelineStops(t *testing.T) {
	tr := awkwardTree(t)
	for _, b := range fiber.Backends() {
		t.Run(b.String(), func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var opened, done atomic.Int64
			_, _, err := countOnFibers(ctx, sched.Config{Workers: 2, Backend: b}, tr.text, func(path string) (io.ReadCloser, error) {
				if opened.Add(1) == 4 {
					cancel()
				}
				return openFile(path)
			}, &done)
			require.ErrorIs(t, err, context.Canceled)
			require.Less(t, opened.Load(), int64(4+fewestLanes), "lanes that had looked already may open one more")
			requireReleased(t)
		})
	}
}

// A context that is over when the work begins leaves tasks that are never called, and nobody may wait for those.
func TestThePipelineStopsBeforeItBegins(t *testing.T) {
	tr := awkwardTree(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, b := range fiber.Backends() {
		for _, workers := range []int{0, 1, 2} {
			var done atomic.Int64
			_, _, err := countOnFibers(ctx, sched.Config{Workers: workers, Backend: b}, tr.text, openFile, &done)
			require.ErrorIs(t, err, context.Canceled)
			require.Zero(t, done.Load())
			requireReleased(t)
		}
	}
}

// The reading stops in mid-file, where no further file makes the lane look.
func TestThePipelineStopsWithoutAReader(t *testing.T) {
	tr := awkwardTree(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var done atomic.Int64
	_, _, err := countOnFibers(ctx, sched.Config{Workers: 1, Backend: fiber.Asm}, tr.text,
		func(string) (io.ReadCloser, error) { return endless{cancel}, nil }, &done)
	require.ErrorIs(t, err, context.Canceled)
	requireReleased(t)
}

// endless is a file without an end, and without white space.
type endless struct{ read func() }

func (e endless) Read(p []byte) (int, error) {
	e.read()
	return copy(p, strings.Repeat("x", len(p))), nil
}

func (endless) Close() error { return nil }

// The next chunk comes only when the words that are held back have been handed on.
func TestWordsAreNotHeldBackForEver(t *testing.T) {
	for _, b := range fiber.Backends() {
		p := &pipeline{batches: []*fibersync.Channel[*batch]{fibersync.NewChannel[*batch](1), fibersync.NewChannel[*batch](1)}}
		l := &lane{chunks: fibersync.NewChannel[chunk](1)}
		words := &batch{text: []byte("words"), ends: []uint32{5}}
		held := []*batch{nil, words}
		var handedOn *batch
		var next chunk
		s, err := sched.New(sched.Config{Workers: 1, Backend: b})
		require.NoError(t, err)
		var failed error
		for _, f := range []func(){
			func() { next, failed = p.nextChunk(t.Context(), l, held) },
			func() {
				handedOn, _ = p.batches[1].Receive()
				l.chunks.Send(chunk{file: 4})
			},
		} {
			require.NoError(t, s.Enqueue(sched.Task{Func: f}))
		}
		require.NoError(t, s.Close())
		require.NoError(t, failed)
		require.Same(t, words, handedOn)
		require.Equal(t, chunk{file: 4}, next)
		require.False(t, holdsAny(held))
		requireReleased(t)
	}
}

// Each worker begins its share of the tasks, however busy the machine is and whoever is awake first.
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
	for _, b := range fiber.Backends() {
		for _, workers := range []int{0, 2, 3} {
			var done atomic.Int64
			_, active, err := countOnFibers(t.Context(), sched.Config{Workers: workers, Backend: b}, tr.text, openFile, &done)
			require.NoError(t, err)
			require.Len(t, active.stats.Workers, workers+1)
			least, most := active.tasks, 0
			for _, w := range active.stats.Workers[:max(workers, 1)] {
				least, most = min(least, int(w.Tasks)), max(most, int(w.Tasks))
			}
			require.Positive(t, least, "%v, %d workers: %+v", b, workers, active.stats.Workers)
			require.LessOrEqual(t, most-least, 3, "%v, %d workers: %+v", b, workers, active.stats.Workers)
		}
	}
	requireReleased(t)
}

// word is where the count of a word stands; it is added if it is not there.
func (t *tally) word(word string) *int {
	c := t.shards[shardOf([]byte(word), len(t.shards))]
	if c[word] == nil {
		c[word] = new(int)
	}
	return c[word]
}

func TestDifference(t *testing.T) {
	files := []textFile{{path: "f"}, {path: "g"}}
	count := func(shards int, f, g string) *tally {
		c := newTally(2, shards)
		for i, text := range []string{f, g} {
			for _, word := range strings.Fields(text) {
				c.add(i, []byte(word))
			}
		}
		return c
	}
	want := count(1, "a b b", "c")
	require.Empty(t, count(3, "b a b", "c").difference(want, files))
	require.Equal(t, "2 words in f, not 3", count(3, "a b", "c").difference(want, files))
	require.Equal(t, "0 words in g, not 1", count(3, "a b b", "").difference(want, files))
	require.Equal(t, `2 times the word "a", not 1`, count(3, "a a b", "c").difference(want, files))
	require.Equal(t, `0 times the word "c", not 1`, count(3, "a b b", "d").difference(want, files))
	failed := count(3, "a b b", "c")
	failed.failures[1] = errBroken
	require.Contains(t, failed.difference(want, files), "g")
}
