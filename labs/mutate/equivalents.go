package mutate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// Equivalents is a list of mutants that are as right as their source, each with the reason. In its file, a line says
//
//	NAME -- REASON
//
// with the mutant's name as Mutant.Name has it, or
//
//	ARCH: NAME -- REASON
//
// where it holds on one architecture only; what a file such as swap_amd64.S is for, its name says.
// Instead of a name,
//
//	FILE: *
//
// stands for all mutants of a file that is no part of what is examined. Empty lines and lines that begin with # count
// for nothing.
type Equivalents struct {
	path    string
	entries []*equivalent
}

type equivalent struct {
	line               int
	arch, name, reason string
	met                bool
}

// ReadEquivalents reads the list at path. A file that does not exist is an empty list.
func ReadEquivalents(path string) (*Equivalents, error) {
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	list := &Equivalents{path: path}
	for n, line := range strings.Split(string(text), "\n") {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, reason, ok := strings.Cut(line, " -- ")
		if name, reason = strings.TrimSpace(name), strings.TrimSpace(reason); !ok || name == "" || reason == "" {
			return nil, fmt.Errorf("%s:%d: write it as NAME -- REASON", path, n+1)
		}
		e := &equivalent{line: n + 1, name: name, reason: reason}
		for _, arch := range []string{"amd64", "arm64"} {
			file, _, _ := strings.Cut(name, ".")
			if rest, ok := strings.CutPrefix(name, arch+": "); ok {
				e.arch, e.name = arch, rest
			} else if strings.HasSuffix(file, "_"+arch) {
				e.arch = arch
			}
		}
		list.entries = append(list.entries, e)
	}
	return list, nil
}

// Excludes reports whether a file is no part of what is examined.
func (l *Equivalents) Excludes(arch, file string) bool {
	for _, e := range l.entries {
		if e.name == file+": *" && (e.arch == "" || e.arch == arch) {
			e.met = true
			return true
		}
	}
	return false
}

// Reason returns why the mutant is as right as its source on that architecture, by the list or by the generator
// (Mutant.Same). It returns "" if the mutant is not known to be right.
func (l *Equivalents) Reason(arch string, m Mutant) string {
	for _, e := range l.entries {
		if e.name == m.Name() && (e.arch == "" || e.arch == arch) {
			e.met = true
			return e.reason
		}
	}
	return m.Same
}

// Unknown returns the entries for that architecture and for mutants of file that Reason has never found: there are no
// such mutants. Each is a name with its place in the list. An empty file stands for all.
func (l *Equivalents) Unknown(arch, file string) []string {
	var unknown []string
	for _, e := range l.entries {
		if !e.met && (e.arch == "" || e.arch == arch) && (file == "" || strings.HasPrefix(e.name, file+": ")) {
			unknown = append(unknown, fmt.Sprintf("%s:%d: %s", l.path, e.line, e.name))
		}
	}
	return unknown
}
