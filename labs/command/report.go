package command

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"fiberlab/labs/grade"
)

// Widest is how many columns a line of text has at most, on a terminal.
const Widest = 100

// reportText is a report for people: the points of each item and, below, what is wrong. columns is the width of the
// terminal; with 0 lines are not broken.
func reportText(r *grade.Report, lab *grade.Lab, columns int) string {
	var b strings.Builder
	say := func(indent int, format string, args ...any) {
		for line := range strings.SplitSeq(fit(clean(fmt.Sprintf(format, args...)), columns-indent), "\n") {
			b.WriteString(strings.TrimRight(strings.Repeat(" ", indent)+line, " ") + "\n")
		}
	}
	say(0, "Lab %s: %s (%s)", r.Lab, r.Title, r.Arch)
	b.WriteByte('\n')
	if r.Build != nil {
		if r.Build.Failed {
			say(0, "It does not build:")
		} else {
			say(0, "The compiler warns, which costs no points:")
		}
		for _, line := range r.Build.Said {
			say(4, "%s", line)
		}
		b.WriteByte('\n')
	}
	if r.Build == nil || !r.Build.Failed {
		for _, item := range r.Items {
			say(0, "%3d of %2d  %s", item.Points, item.Of, item.Name)
			for _, f := range item.Faults {
				say(11, "%s%s (section %s)", f.Text, f.Where(), f.Section)
			}
		}
		b.WriteByte('\n')
	}
	for _, f := range r.Measured {
		unit := f.Unit
		if f.Value == 1 {
			unit = strings.TrimSuffix(unit, "s")
		}
		say(0, "%s: %s %s", f.Name, strconv.FormatFloat(f.Value, 'f', -1, 64), unit)
	}
	for _, remark := range r.Remarks {
		say(0, "Note: %s.", remark)
	}
	say(
		0, "%d of %d points. Sections are those of %s in %s. Seed: %d.", r.Points, r.Of, lab.Handout, lab.Home(),
		r.Seed,
	)
	return b.String()
}

// clean makes text harmless for a terminal: a submission's text may be in it.
func clean(line string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, line)
}

// fit breaks a line between words, for a terminal.
func fit(line string, columns int) string {
	if columns < 20 {
		return line
	}
	return Fold(line, min(columns, Widest))
}
