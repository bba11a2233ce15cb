package main

import (
	"fmt"
	"hash/maphash"
	"sort"
)

// tally is one count of the words of a list of files, however it was made. The words are divided into shards,
// so that several tasks can count at once, each with a map of its own.
type tally struct {
	perFile  []int         // words of each file, in the list's order
	shards   []counts      // each word is counted in the one that shardOf names
	failures map[int]error // why the file of that index could not be read to its end
}

// counts is how often each word occurs. The numbers lie behind pointers so that a word that is known needs one
// look into the map, and no string of its own.
type counts map[string]*int

func newTally(files, shards int) *tally {
	t := &tally{perFile: make([]int, files), shards: make([]counts, shards), failures: map[int]error{}}
	for i := range t.shards {
		t.shards[i] = counts{}
	}
	return t
}

// shardSeed makes the same word fall into the same shard everywhere.
var shardSeed = maphash.MakeSeed()

// shardOf is which of so many shards a word belongs to.
func shardOf(word []byte, shards int) int {
	if shards == 1 {
		return 0
	}
	return int(maphash.Bytes(shardSeed, word) % uint64(shards))
}

// words is the number of words in all files.
func (t *tally) words() int {
	sum := 0
	for _, n := range t.perFile {
		sum += n
	}
	return sum
}

// distinct is the number of different words.
func (t *tally) distinct() int {
	sum := 0
	for _, c := range t.shards {
		sum += len(c)
	}
	return sum
}

// add counts word once, for the file of that index.
func (t *tally) add(file int, word []byte) {
	t.perFile[file]++
	t.shards[shardOf(word, len(t.shards))].add(word)
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

// difference says in one line where t departs from the expected tally of the same files; it is empty
// if the two agree in every file and in every word.
func (t *tally) difference(expected *tally, files []textFile) string {
	for i := range files {
		if t.perFile[i] != expected.perFile[i] {
			return fmt.Sprintf("%d words in %s, not %d", t.perFile[i], files[i].path, expected.perFile[i])
		}
		if (t.failures[i] == nil) != (expected.failures[i] == nil) {
			return fmt.Sprintf("%s was read to its end only once", files[i].path)
		}
	}
	words := append(t.unlike(expected), expected.unlike(t)...)
	if len(words) == 0 {
		return ""
	}
	sort.Strings(words)
	return fmt.Sprintf("%d times the word %.40q, not %d", t.count(words[0]), words[0], expected.count(words[0]))
}

// unlike lists the words of t that other has counted differently.
func (t *tally) unlike(other *tally) []string {
	var words []string
	for _, c := range t.shards {
		for word, n := range c {
			if other.count(word) != *n {
				words = append(words, word)
			}
		}
	}
	return words
}

func (t *tally) count(word string) int {
	if n := t.shards[shardOf([]byte(word), len(t.shards))][word]; n != nil {
		return *n
	}
	return 0
}
