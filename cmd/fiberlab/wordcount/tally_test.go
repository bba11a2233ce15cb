package wordcount

import (
	"testing"

	"fiberlab/cmd/fiberlab/wordcount/wordcounttest"

	"github.com/stretchr/testify/require"
)

func TestDifference(t *testing.T) {
	files := []File{{Path: "f"}, {Path: "g"}}
	count := func(shards int, f, g string) *Tally {
		c := newTally(files, shards)
		c.addAll(0, f)
		c.addAll(1, g)
		return &c
	}
	want := count(1, "a b b", "c")
	require.Empty(t, count(3, "b a b", "c").Difference(want))
	require.Equal(t, "2 words in f, not 3", count(3, "a b", "c").Difference(want))
	require.Equal(t, "0 words in g, not 1", count(3, "a b b", "").Difference(want))
	require.Equal(t, `2 times the word "a", not 1`, count(3, "a a b", "c").Difference(want))
	require.Equal(t, `0 times the word "c", not 1`, count(3, "a b b", "d").Difference(want))
	failed := count(3, "a b b", "c")
	failed.Files[1].Err = wordcounttest.ErrBroken
	require.Equal(t, "g was read to its end in one count only", failed.Difference(want))
	require.Equal(t, "0 files, not 2", new(Tally).Difference(want))
	other := count(3, "a b b", "c")
	other.Files[0].Path = "h"
	require.Equal(t, "the file h, not f", other.Difference(want))
}

func TestTally(t *testing.T) {
	c := newTally([]File{{Path: "f"}}, 2)
	c.addAll(0, "a b b")
	require.Equal(t, 3, c.Words())
	require.Equal(t, 2, c.Distinct())
	require.Equal(t, 2, c.Of("b"))
	require.Zero(t, c.Of("c"))
	require.Zero(t, new(Tally).Of("a"))
}
