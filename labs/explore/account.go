package explore

import (
	"errors"
	"fmt"
	"sort"
	"strings"
)

// This file has what other programs take from a result besides the sentences of explain.go: whether it is well formed,
// and where each step is.

// mostThreads is how many threads a schedule has at most, thread 0 included.
const mostThreads = 7

// wellFormed reports by its error what a runtime would not print. A program that is not trusted may have printed it.
func (r *Result) wellFormed() error {
	switch {
	case r.Verdict != Pass && r.Verdict != Fail:
		return fmt.Errorf("it printed the verdict %.20q", string(r.Verdict))
	case (r.Verdict == Fail) != (r.Fault != nil):
		return errors.New("it printed a verdict that does not fit the fault")
	}
	for i, s := range r.Steps {
		if s.Thread < 0 || s.Thread >= mostThreads || s.From != nil && *s.From >= len(r.Steps) {
			return fmt.Errorf("it printed a step %d that cannot be", i+1)
		}
	}
	return nil
}

// Place returns the line of the source from which an address was made. The program itself says which file that is.
func (r *Result) Place(at Address) Place { return r.program.read().place(at) }

// Text returns the line at a place, without the blanks around it; empty if there is no such file or line.
func (r *Result) Text(at Place) string { return r.program.read().text(at) }

// Function returns the name of the function that has the address; empty: none has.
func (r *Result) Function(at Address) string {
	all := r.program.read().functions
	i := sort.Search(len(all), func(i int) bool { return all[i].address > uint64(at) }) - 1
	if i < 0 || uint64(at) >= all[i].address+uint64(all[i].size) {
		return ""
	}
	name, _, _ := strings.Cut(all[i].name, ".") // the compiler has parts of functions, such as wait.part.0
	return name
}
