// Package forkwork has the programs by which ways of forking are compared. Each is there as plain recursion, with forks
// by each rival of package forkjoin, and with forks by that package. All ways of a program compute the same.
package forkwork

import (
	"go/build"
	"path/filepath"

	"fiberlab/sched/forkjoin"
)

// Work is one program on one input. Its functions may be called again and again, but one at a time: some of them use
// the same memory each time.
type Work struct {
	// key=value parts, of which the last says from where on the program forks no more: cut=none or cut=WHERE
	Name string

	Serial func() int                 // recursion without forks; the result reports whether it was right
	Forked func(r Rival) int          // the same, with forks by r
	Join   func(p *forkjoin.Pool) int // by forkjoin.Join; nil if the program is a loop
	Typed  func(p *forkjoin.Pool) int // by a forkjoin.Func; nil if the program is a loop, or has a cut
	// by forkjoin.For, Reduce or SortFunc, which need no cut; nil if the program is no loop
	Loop func(p *forkjoin.Pool) int
}

// Forks returns how many forks a run makes, by any way. It takes as long as a run without forks.
func (w *Work) Forks() int {
	counted = 0
	w.Forked(counter)
	return counted
}

// Files is the directory, in Go's own sources, whose files Words counts.
func Files(folder string) string { return filepath.Join(build.Default.GOROOT, "src", folder) }

// mix is a cheap hash of x.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
