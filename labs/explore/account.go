package explore

import (
	"errors"
	"fmt"
	"sort"
	"strings"
)

// This file has what other programs take from a result: the sentences, and where each step is.

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

// Sentence returns one sentence that names the fault; empty if there is none.
func (r *Result) Sentence() string {
	if r.Fault == nil {
		return ""
	}
	return r.sentence()
}

// Reasons returns sentences that say how the fault came about: what each thread waits for, which order is missing. They
// name steps by their numbers, from 1.
func (r *Result) Reasons() []string {
	if r.Fault == nil {
		return nil
	}
	return r.explain()
}

// Does says what the step with that index does.
func (r *Result) Does(i int) string { return r.does(i) }

// Place returns the line of the source from which an address was made. The program itself says which file that is.
func (r *Result) Place(at Address) Place { return r.program.read().place(at) }

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
