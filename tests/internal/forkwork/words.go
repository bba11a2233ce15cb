package forkwork

import (
	"fmt"
	"os"
	"strings"

	"fiberlab/cmd/fiberlab/wordcount"
	"fiberlab/sched/forkjoin"
)

// Counts is how often each word occurs.
type Counts map[string]int

// Words is the number of words, and Distinct the number of different words.
func (c Counts) Words() (words int) {
	for _, n := range c {
		words += n
	}
	return words
}

// add counts the words of a text.
func (c Counts) add(text string) {
	for word := range strings.FieldsSeq(text) {
		c[word]++
	}
}

// merged returns a count of the words of both, which it takes over.
func merged(c, d Counts) Counts {
	if len(c) < len(d) {
		c, d = d, c
	}
	for word, n := range d {
		c[word] += n
	}
	return c
}

// check returns a number that depends on all words and how often they occur.
func (c Counts) check() int {
	sum := uint64(0)
	for word, n := range c {
		hash := uint64(14695981039346656037)
		for i := range len(word) {
			hash = (hash ^ uint64(word[i])) * 1099511628211
		}
		sum += hash * uint64(n)
	}
	return int(sum)
}

// Words counts the words of files, which it reads each time, by halves of the list, and merges the counts. It forks
// for files of more than cut bytes, and reads what is left into one count.
func Words(files []wordcount.File, cut int64) Work {
	w := Work{
		Name:   fmt.Sprintf("work=words/cut=%d", cut),
		Serial: func() int { return CountWords(files).check() },
		Forked: func(r Rival) int { return wordsForked(r, files, cut).check() },
		Join:   func(p *forkjoin.Pool) int { return wordsJoin(p, files, cut).check() },
	}
	if cut == 0 {
		w.Name = "work=words/cut=none"
		f := forkjoin.NewFunc(wordsTyped)
		w.Typed = func(p *forkjoin.Pool) int { return f.Call(p, files).check() }
	}
	return w
}

// CountWords counts the words of files. It panics if one cannot be read.
func CountWords(files []wordcount.File) Counts {
	c := make(Counts)
	for _, file := range files {
		text, err := os.ReadFile(file.Path)
		if err != nil {
			panic(fmt.Errorf("forkwork: count words: %w", err))
		}
		c.add(string(text))
	}
	return c
}

// size is how many bytes the files have.
func size(files []wordcount.File) (bytes int64) {
	for _, file := range files {
		bytes += file.Size
	}
	return bytes
}

// middle returns how many of the files, of which there are several, have half of the bytes; one at least, and not all.
func middle(files []wordcount.File) int {
	before, all := files[0].Size, size(files)
	i := 1
	for i < len(files)-1 && before+files[i].Size/2 < all/2 {
		before += files[i].Size
		i++
	}
	return i
}

func wordsForked(r Rival, files []wordcount.File, cut int64) Counts {
	if len(files) <= 1 || size(files) <= cut {
		return CountWords(files)
	}
	half := middle(files)
	var first, second Counts
	r.fork(
		func() int { first = wordsForked(r, files[:half], cut); return 0 },
		func() int { second = wordsForked(r, files[half:], cut); return 0 })
	return merged(first, second)
}

func wordsJoin(p *forkjoin.Pool, files []wordcount.File, cut int64) Counts {
	if len(files) <= 1 || size(files) <= cut {
		return CountWords(files)
	}
	half := middle(files)
	return merged(forkjoin.Join(p,
		func(p *forkjoin.Pool) Counts { return wordsJoin(p, files[:half], cut) },
		func(p *forkjoin.Pool) Counts { return wordsJoin(p, files[half:], cut) }))
}

func wordsTyped(s *forkjoin.Strand[[]wordcount.File, Counts], files []wordcount.File) Counts {
	if len(files) <= 1 {
		return CountWords(files)
	}
	half := middle(files)
	t := s.Fork(files[half:])
	first := wordsTyped(s, files[:half])
	return merged(first, s.Join(t))
}
