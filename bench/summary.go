package bench

import (
	"fmt"
	"math"
	"slices"
	"strconv"
)

// floorName is the name of a series that is no row.
const floorName = "floor"

// baseOf returns the index of the series to which ratios are taken. That is the base at its first place on the axis. If
// this machine lacks the base, it is the first series.
func baseOf(w *Workload, all []*series) int {
	return max(0, slices.IndexFunc(all, func(s *series) bool { return s.Name == w.Base }))
}

func samplesOf(all []*series, rounds int) (rows [][]float64) {
	for _, s := range all {
		rows = append(rows, s.taken[:rounds])
	}
	return rows
}

// areNarrow reports whether the intervals of all ratios are narrow.
func areNarrow(w *Workload, all []*series, seed uint64) bool {
	base := baseOf(w, all)
	medians, ratios := bootstrap(samplesOf(all, len(all[base].taken)), base, seed)
	for i, s := range all {
		if s.Name != floorName && (ratios[i].halfWidth() > narrow || medians[i].halfWidth() > narrow) {
			return false
		}
	}
	return true
}

// summarise makes a group of the first rounds, or nil if there are none.
func summarise(w *Workload, all []*series, rounds int, skipped []Skipped, seed uint64) *Group {
	if rounds == 0 || len(all) == 0 {
		return nil
	}
	base := baseOf(w, all)
	medians, ratios := bootstrap(samplesOf(all, rounds), base, seed)
	g := &Group{
		Name: w.Name, Title: w.Title, Unit: w.unit(), Base: all[base].Name, Axis: w.Axis, Rounds: rounds,
		Noise: noise(all[base].Name, all[base].taken[:rounds], medians[base]), Notes: w.Notes, Rows: []Row{},
		Marks: w.Marks, Skipped: skipped,
	}
	for i, s := range all {
		if s.Name == floorName {
			g.Floor = medians[i].value
			continue
		}
		row := Row{
			Name: s.Name, At: s.At, Samples: s.taken[:rounds], Operations: s.made,
			Median: medians[i].value, Low: medians[i].low, High: medians[i].high,
			SystemCalls: s.calls, Executed: s.executed,
		}
		if g.Noise == "" && ratios[i].halfWidth() <= noisy {
			row.Ratio, row.RatioLow, row.RatioHigh = ratios[i].value, ratios[i].low, ratios[i].high
		}
		if s.List != nil {
			text, n := s.List()
			row.Listing, row.Instructions = text, float64(n)
			if n > 0 {
				s.Says += fmt.Sprintf(", in %d instructions", n)
			}
		}
		if s.calls != nil && *s.calls >= 0.05 {
			s.Says += fmt.Sprintf("; system calls: %.1f", *s.calls)
		}
		row.Sentence = g.sentence(&row, w.Operation, s.Says, all[base].At, i == base)
		g.Rows = append(g.Rows, row)
	}
	return g
}

// sentence says what the figures of the row mean; the base is at baseAt on the axis.
func (g *Group) sentence(r *Row, operation, says string, baseAt float64, isBase bool) string {
	name, base := r.Name, g.Base
	if g.Axis != "" {
		name += " with " + place(r.At, g.Axis)
		base = fmt.Sprintf("%s with %s", base, place(baseAt, g.Axis))
	}
	why := ""
	if says != "" {
		why = ": " + says
	}
	switch {
	case isBase || g.Noise != "": // that no ratio is given is said once, for all rows
		return fmt.Sprintf("A %s by %s takes %s%s.", operation, name, Span(r.Low, r.High, " ns"), why)
	case r.Ratio == 0:
		return fmt.Sprintf("It cannot be told what a %s by %s costs beside %s%s.",
			operation, name, base, why)
	case r.RatioLow <= 1 && r.RatioHigh >= 1:
		return fmt.Sprintf("A %s by %s costs the same as by %s, as far as can be told%s.", operation, name, base, why)
	}
	return fmt.Sprintf("A %s by %s costs %s the cost by %s%s.", operation, name,
		Span(r.RatioLow, r.RatioHigh, " times"), base, why)
}

// place is a place on an axis in words.
func place(at float64, axis string) string { return Whole(at) + " " + axis }

// Span is "2.1 to 2.3" with the unit behind it, or one number if both round to it.
func Span(low, high float64, unit string) string {
	if Figure(low) == Figure(high) {
		return Figure(low) + unit
	}
	return Figure(low) + " to " + Figure(high) + unit
}

// Figure is x with three significant digits, and with a comma after every three digits of a large one.
func Figure(x float64) string {
	x = Rounded(x, 3)
	if math.Abs(x) < 1000 {
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	return Whole(x)
}

// Rounded is x with that many significant digits.
func Rounded(x float64, digits int) float64 {
	r, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', digits, 64), 64)
	return r
}

// Whole is x as a whole number with a comma after every three digits.
func Whole(x float64) string {
	s := strconv.FormatFloat(x, 'f', 0, 64)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
