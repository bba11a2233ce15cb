package main

import (
	"fmt"
	"sort"
)

// tally is one count of the words of a list of files, however it was made.
type tally struct {
	perFile  []int           // words of each file, in the list's order
	counts   map[string]*int // how often each word occurs
	failures map[int]error   // why the file of that index could not be read to its end
}

func newTally(files int) *tally {
	return &tally{perFile: make([]int, files), counts: map[string]*int{}, failures: map[int]error{}}
}

// words is the number of words in all files.
func (t *tally) words() int {
	sum := 0
	for _, n := range t.perFile {
		sum += n
	}
	return sum
}

// add counts word once, for the file of that index.
func (t *tally) add(file int, word []byte) {
	t.perFile[file]++
	if n := t.counts[string(word)]; n != nil {
		*n++
		return
	}
	one := 1
	t.counts[string(word)] = &one
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
	var words []string
	for word, n := range expected.counts {
		if t.count(word) != *n {
			words = append(words, word)
		}
	}
	for word := range t.counts {
		if expected.counts[word] == nil {
			words = append(words, word)
		}
	}
	if len(words) == 0 {
		return ""
	}
	sort.Strings(words)
	return fmt.Sprintf("%d times the word %.40q, not %d", t.count(words[0]), words[0], expected.count(words[0]))
}

func (t *tally) count(word string) int {
	if n := t.counts[word]; n != nil {
		return *n
	}
	return 0
}
