package forkjoin_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/cmd/fiberlab/wordcount"
	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/sched/forkjoin"
	"fiberlab/tests/internal/forktest"
	"fiberlab/tests/internal/forkwork"
	"fiberlab/tests/internal/leaks"
	"fiberlab/tests/internal/suite"
)

// sources returns the text files of a folder of Go's own sources.
func sources(t require.TestingT, folder string) []wordcount.File {
	tree, err := wordcount.Walk(context.Background(), forkwork.Files(folder), nil)
	require.NoError(t, err)
	require.NotEmpty(t, tree.Files)
	return tree.Files
}

// smallWorks are all programs, without a cut and with one, on inputs that take a moment.
func smallWorks(t *testing.T) []forkwork.Work {
	files := sources(t, "errors")
	return []forkwork.Work{
		forkwork.Fib(10, 0), forkwork.Fib(10, 5),
		forkwork.Sum(100, 0, 0), forkwork.Sum(100, 0, 3),
		forkwork.Sum(100, 4, 0), forkwork.Sum(100, 4, 3),
		forkwork.Queens(5, 0), forkwork.Queens(6, 2),
		forkwork.Mergesort(10_000, 0), forkwork.Mergesort(10_000, 5000),
		forkwork.Matmul(70, 0), forkwork.Matmul(70, 50),
		forkwork.Search(3, 5, 0), forkwork.Search(3, 5, 2),
		forkwork.Words(files, 0), forkwork.Words(files, 10_000),
		forkwork.Roots(5000), forkwork.Total(5000), forkwork.Sort(10_000),
	}
}

// What the programs compute is known from elsewhere.
func TestWorksAreRight(t *testing.T) {
	known := func(want int, w forkwork.Work) { assert.Equal(t, want, w.Serial(), w.Name) }
	known(55, forkwork.Fib(10, 0))
	known(99*100/2, forkwork.Sum(100, 0, 0))
	known(10, forkwork.Queens(5, 0))
	known(92, forkwork.Queens(8, 0))

	files := sources(t, "errors")
	want, err := wordcount.CountSequentially(context.Background(), files, wordcount.Options{})
	require.NoError(t, err)
	got := forkwork.CountWords(files)
	assert.Equal(t, want.Words(), got.Words(), "words")
	assert.Len(t, got, want.Distinct(), "different words")
	for word, n := range got {
		assert.Equal(t, want.Of(word), n, word)
	}
}

// A program forks as often as its name says: at each call that is no leaf, or at the first of them only.
func TestWorksForkUpToTheCut(t *testing.T) {
	forks := func(want int, w forkwork.Work) { assert.Equal(t, want, w.Forks(), w.Name) }
	forks(317_810, forkwork.Fib(27, 0))
	forks(1000, forkwork.Sum(1000, 0, 0))
	forks(7, forkwork.Sum(1000, 0, 3))
	forks(3, forkwork.Queens(4, 1))
	forks(15+1+2+2, forkwork.Mergesort(16_000, 1000)) // to sort, and for merges of 16,000 and 8,000
	forks(3, forkwork.Matmul(70, 50))
	forks(3, forkwork.Search(3, 5, 1))
}

func TestRivalsComputeTheSame(t *testing.T) {
	works := smallWorks(t)
	agree := func(t *testing.T, r forkwork.Rival) {
		for _, w := range works {
			assert.Equal(t, w.Serial(), w.Forked(r), w.Name)
		}
	}
	for _, r := range forkwork.Rivals() {
		t.Run(r.String(), func(t *testing.T) {
			if !r.OnFibers() {
				leaks.Check(t)
				agree(t, r)
				return
			}
			suite.EachScheduler(t, []int{0, 1, 2, 8}, func(t *testing.T, s *sched.Scheduler) {
				require.NoError(t, fibersync.On(s, func() { agree(t, r) }))
			})
		})
	}
}

func TestFormsComputeTheSame(t *testing.T) {
	works := smallWorks(t)
	forktest.EachPool(t, func(t *testing.T, _ *sched.Scheduler, p *forkjoin.Pool) {
		for _, w := range works {
			want := w.Serial()
			for how, run := range map[string]func(*forkjoin.Pool) int{"Join": w.Join, "a Func": w.Typed, "a loop": w.Loop} {
				if run != nil {
					assert.Equal(t, want, run(p), "%s by %s", w.Name, how)
				}
			}
		}
	})
}
