package files

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"sync/atomic"
	"time"

	"fiberlab/sched/fibersync"
)

// GrepOptions says how to search.
type GrepOptions struct {
	Setup

	// Lines, if not nil, is called with the lines that one file has, each as "path:number:line\n", or with "path: binary file matches\n"; the files in lexical order of their
	// paths, one after the other, by a goroutine of Grep. It may keep text. If it returns an error, the search ends with that. Without Lines the matches are only counted.
	Lines func(text []byte) error
}

// Found is what a search has found.
type Found struct {
	Figures
	Files    int64    `json:"files"` // that were read
	Bytes    int64    `json:"bytes"` // of them
	Matching int64    `json:"matching_files"`
	Lines    int64    `json:"matching_lines"` // binary files have none
	Binary   int64    `json:"matching_binary_files"`
	Failed   []string `json:"unreadable"` // why, and which
}

// ahead is how many files may have been searched whose lines have not been passed on.
const ahead = 1024

// Grep finds the lines that match pattern, as package regexp reads it, in the file root, or in all regular files below the directory root. Links below it are not followed. A file with a
// NUL in its first 8 KB is binary. Grep blocks its caller, which should be a goroutine: a fiber would block its thread. Without figures it returns
// a *syntax.Error of the pattern, a *PlanError if there is no such root, or the error of sched.New if there can be no engines; with them the error of Lines, sched.ErrNoWorkers, or
// context.Cause(ctx). Files that cannot be read are no error: Found tells which.
func Grep(ctx context.Context, pattern, root string, o GrepOptions) (*Found, error) {
	m, err := newMatcher(pattern)
	if err != nil {
		return nil, err
	}
	found := &Found{Failed: []string{}}
	names, err := namesBelow(ctx, root, found)
	if err != nil {
		return nil, err
	}
	c, err := o.Setup.crew()
	if err != nil {
		return nil, err
	}
	start := time.Now()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)

	var next, read, size atomic.Int64
	results := make([]chan fileMatches, len(names))
	for i := range results {
		results[i] = make(chan fileMatches, 1)
	}
	room := fibersync.NewSemaphore(ahead)
	var passing sync.WaitGroup
	passing.Add(1)
	go func() {
		defer passing.Done()
		for i := range results {
			select {
			case r := <-results[i]:
				room.Release(1)
				if err := found.add(r, o.Lines); err != nil {
					stop(err)
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	search := func() bool {
		if room.AcquireContext(ctx, 1) != nil {
			return false
		}
		i := int(next.Add(1)) - 1
		if i >= len(names) {
			room.Release(1)
			return false
		}
		data, err := c.readFile(ctx, names[i])
		r := fileMatches{err: err}
		if err == nil {
			read.Add(1)
			size.Add(int64(len(data)))
			r = m.search(names[i], data)
		}
		results[i] <- r
		return true
	}
	err = c.run(ctx, len(names), func() func() bool { return search })
	if err != nil {
		stop(err)
	}
	passing.Wait()
	if err == nil {
		err = context.Cause(ctx)
	}
	err = errors.Join(err, c.end())
	found.Files, found.Bytes, found.Figures = read.Load(), size.Load(), c.figures
	found.Seconds = time.Since(start).Seconds()
	return found, err
}

// add counts what one file has, and passes it on.
func (f *Found) add(r fileMatches, pass func([]byte) error) error {
	if r.err != nil {
		f.Failed = append(f.Failed, r.err.Error())
		return nil
	}
	if len(r.text) == 0 {
		return nil
	}
	f.Matching++
	f.Lines += int64(r.lines)
	if r.binary {
		f.Binary++
	}
	if pass == nil {
		return nil
	}
	return pass(r.text)
}

// namesBelow are the regular files below root, or root itself.
func namesBelow(ctx context.Context, root string, found *Found) (names []string, err error) {
	info, err := os.Stat(root)
	if err != nil {
		return nil, &PlanError{root, reasonOf(err), err}
	}
	if !info.IsDir() {
		return []string{root}, nil
	}
	if root[len(root)-1] != '/' {
		if link, err := os.Lstat(root); err == nil && link.Mode()&fs.ModeSymlink != 0 {
			root += "/" // WalkDir does not follow it else
		}
	}
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			found.Failed = append(found.Failed, err.Error())
		case entry.Type().IsRegular():
			names = append(names, path)
		}
		return nil
	})
	return names, err
}

// fileMatches is what one file has.
type fileMatches struct {
	text   []byte
	lines  int
	binary bool
	err    error
}

// matcher finds lines.
type matcher struct {
	line *regexp.Regexp // for one line
	text *regexp.Regexp // for many: it finds at least the lines that line matches. Nil if there is none such
}

// binaryHead is how much of a file decides whether it is binary.
const binaryHead = 8 << 10

func newMatcher(pattern string) (*matcher, error) {
	line, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err
	}
	m := &matcher{line: line}
	// These ask for the begin or the end of what is searched, or for flags, which may.
	for _, special := range []string{`\A`, `\z`, `(?`} {
		if bytes.Contains([]byte(pattern), []byte(special)) {
			return m, nil
		}
	}
	m.text = regexp.MustCompile("(?m:" + pattern + ")")
	return m, nil
}

// search finds the lines of a file that match.
func (m *matcher) search(name string, data []byte) (r fileMatches) {
	r.binary = bytes.IndexByte(data[:min(len(data), binaryHead)], 0) >= 0
	number, counted := 1, 0 // data[counted:] begins line number
	for at := 0; at < len(data); {
		if m.text != nil {
			match := m.text.FindIndex(data[at:])
			if match == nil {
				break
			}
			if begin := bytes.LastIndexByte(data[at:at+match[0]], '\n'); begin >= 0 {
				at += begin + 1
			}
			if at == len(data) {
				break
			}
		}
		end := len(data)
		if n := bytes.IndexByte(data[at:], '\n'); n >= 0 {
			end = at + n
		}
		if line := data[at:end]; m.line.Match(line) {
			if r.binary {
				r.text = []byte(name + ": binary file matches\n")
				return r
			}
			number += bytes.Count(data[counted:at], []byte("\n"))
			counted = at
			r.lines++
			r.text = appendLine(r.text, name, number, line)
		}
		at = end + 1
	}
	return r
}
