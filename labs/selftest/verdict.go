package selftest

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"fiberlab/labs/grade"
	"fiberlab/labs/machine"
	"fiberlab/labs/mutate"
)

// judge adds the report of a mutant to the result. reason is why the mutant is as right as the reference, or "".
func (r *Result) judge(m mutate.Mutant, reason string, report *grade.Report) {
	if report.Build != nil && report.Build.Failed {
		r.Unbuilt++
		return
	}
	r.Mutants++
	what := fmt.Sprintf("%s (line %d)", m.Name(), m.Line)
	all := faults(report)
	switch {
	case reason != "" && report.Full():
		r.Equivalent++
	case reason != "":
		r.miss(
			what, fmt.Sprintf("it is listed as right (%s), but got %d points of %d", reason, report.Points, report.Of),
			report,
		)
	case report.Full():
		r.miss(what, "it got full marks", report)
	case slices.ContainsFunc(all, func(f grade.Fault) bool { return misplaced(f, m) }):
		r.miss(what, "a function of another file is said to run on past its end", report)
	case !slices.ContainsFunc(all, func(f grade.Fault) bool { return names(f, m) }):
		r.miss(what, "no fault names the line or one of: "+strings.Join(m.Names, ", "), report)
	default:
		r.Caught++
		named := func(i grade.ItemReport) bool { return len(i.Faults) > 0 && names(i.Faults[0], m) }
		if slices.ContainsFunc(report.Items, named) {
			r.First++
		}
	}
}

var pastEnd = regexp.MustCompile(`runs on (?:past its end|behind its last instruction)[^(]*\((\S+\.\w+):\d+\)`)

// misplaced reports whether a fault says that a function runs on past its end,
// though the mutant differs in another file.
func misplaced(f grade.Fault, m mutate.Mutant) bool {
	found := pastEnd.FindStringSubmatch(f.Text)
	return found != nil && found[1] != m.File
}

// names reports whether a fault names what is wrong with the mutant. It may do so by a word or by the line. A step of
// the schedule does so too if it is in the function, in one that this called, or after a call of it.
func names(f grade.Fault, m mutate.Mutant) bool {
	if filepath.Base(f.Place.File) == m.File && f.Place.Line == m.Line {
		return true
	}
	functions := append(m.Callers, m.Function)
	in := func(name string) bool { return slices.Contains(functions, name) }
	if slices.ContainsFunc(f.Entered, in) || slices.ContainsFunc(f.Steps, func(s grade.Step) bool {
		return slices.ContainsFunc(s.Entered, in) ||
			slices.ContainsFunc(append([]machine.Place{s.Place}, s.Callers...), func(p machine.Place) bool {
				return !strings.HasPrefix(p.File, "tests/") && (p.File == m.File && p.Line == m.Line || in(p.Function))
			})
	}) {
		return true
	}
	line := regexp.MustCompile(regexp.QuoteMeta(fmt.Sprintf("%s:%d", m.File, m.Line)) + `\b`)
	return line.MatchString(f.Text) || slices.ContainsFunc(m.Names, func(name string) bool {
		return regexp.MustCompile(`(?i)\b` + regexp.QuoteMeta(name) + `\b`).MatchString(f.Text)
	})
}
