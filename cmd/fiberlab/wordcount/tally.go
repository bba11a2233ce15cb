package wordcount

import (
	"fmt"
	"hash/maphash"
	"slices"
)

// Tally is one count of the words of a list of files. Words are divided into shards, so that several
// tasks can count at the same time, each in a map that only it uses.
type Tally struct {
	Files  []FileCount // in the order in which the files were given
	shards []counts    // shardOf names the shard that a word is counted in
}

// FileCount is the count of one file.
type FileCount struct {
	File
	Words int
	Err   error // why the file could not be read to its end, or nil; Words has those before
}

// counts is how often each word occurs. The numbers are behind pointers: counting a word that is known
// takes one lookup, and makes no string.
type counts map[string]*int

func newTally(files []File, shards int) Tally {
	t := Tally{Files: make([]FileCount, len(files)), shards: make([]counts, shards)}
	for i, file := range files {
		t.Files[i].File = file
	}
	for i := range t.shards {
		t.shards[i] = counts{}
	}
	return t
}

// shardSeed makes a word fall into the same shard in all tallies that have as many shards.
var shardSeed = maphash.MakeSeed()

// shardOf is the shard, of so many, that a word belongs to.
func shardOf(word []byte, shards int) int {
	if shards == 1 {
		return 0
	}
	return int(maphash.Bytes(shardSeed, word) % uint64(shards))
}

// add counts word once more.
func (c counts) add(word []byte) {
	if n := c[string(word)]; n != nil {
		*n++
		return
	}
	one := 1
	c[string(word)] = &one
}

// Words is the number of words in all files.
func (t *Tally) Words() int {
	sum := 0
	for _, f := range t.Files {
		sum += f.Words
	}
	return sum
}

// Distinct is the number of different words.
func (t *Tally) Distinct() int {
	sum := 0
	for _, c := range t.shards {
		sum += len(c)
	}
	return sum
}

// Of is how often word occurs in all files.
func (t *Tally) Of(word string) int {
	if len(t.shards) == 0 {
		return 0
	}
	if n := t.shards[shardOf([]byte(word), len(t.shards))][word]; n != nil {
		return *n
	}
	return 0
}

// Failed lists the files that could not be read to their end.
func (t *Tally) Failed() []FileCount {
	var failed []FileCount
	for _, f := range t.Files {
		if f.Err != nil {
			failed = append(failed, f)
		}
	}
	return failed
}

// Difference says in one line where t departs from expected. It is empty if the two agree about every file
// and every word.
func (t *Tally) Difference(expected *Tally) string {
	if len(t.Files) != len(expected.Files) {
		return fmt.Sprintf("%d files, not %d", len(t.Files), len(expected.Files))
	}
	for i, want := range expected.Files {
		switch got := t.Files[i]; {
		case got.Path != want.Path:
			return fmt.Sprintf("the file %s, not %s", got.Path, want.Path)
		case got.Words != want.Words:
			return fmt.Sprintf("%d words in %s, not %d", got.Words, got.Path, want.Words)
		case (got.Err == nil) != (want.Err == nil):
			return fmt.Sprintf("%s was read to its end in one count only", got.Path)
		}
	}
	words := append(t.unlike(expected), expected.unlike(t)...)
	if len(words) == 0 {
		return ""
	}
	first := slices.Min(words)
	return fmt.Sprintf("%d times the word %.40q, not %d", t.Of(first), first, expected.Of(first))
}

// unlike lists the words of t that other has counted differently.
func (t *Tally) unlike(other *Tally) []string {
	var words []string
	for _, c := range t.shards {
		for word, n := range c {
			if other.Of(word) != *n {
				words = append(words, word)
			}
		}
	}
	return words
}
