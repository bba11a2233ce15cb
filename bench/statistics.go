package bench

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/stat"
)

const (
	// narrow is how far the ends of a ratio's interval may be from the ratio, so that no more samples are needed.
	narrow = 0.03
	// noisy is the same distance from which on a ratio is not given: two that are known to 7 % agree within 10 %.
	noisy = 0.07
	// scattered is the range of the middle half of the base's samples over its median from which on no ratio is given.
	scattered = 0.25
	// fewest is how many samples an interval needs: of fewer, all may lie on one side of the median by chance.
	fewest = 5
	// resamples is how often a bootstrap draws.
	resamples = 1000
)

// estimate is a statistic with its 95 % interval.
type estimate struct{ value, low, high float64 }

// halfWidth is the distance of the farther end from the value, over the value.
func (e estimate) halfWidth() float64 { return max(e.high-e.value, e.value-e.low) / e.value }

// block is how many of n rounds that follow each other are taken as one: what disturbs one disturbs its neighbours.
func block(n int) int { return max(1, int(math.Round(math.Cbrt(float64(n))))) }

// bootstrap returns the medians of the rows, and their ratios to row base, with percentile intervals. A resample draws
// blocks of rounds (the circular block bootstrap of Politis and Romano), the same for all rows: what disturbed a whole
// round cancels out in the ratios. All rows have as many samples.
func bootstrap(rows [][]float64, base int, seed uint64) (medians, ratios []estimate) {
	rng := rand.New(rand.NewPCG(seed, 0))
	n := len(rows[base])
	length := block(n)
	drawn := make([]float64, n)
	rounds := make([]int, n)
	of := make([][]float64, len(rows)) // the medians of the resamples
	for range resamples {
		for i, start := 0, 0; i < n; i++ {
			if i%length == 0 {
				start = rng.IntN(n)
			}
			rounds[i] = (start + i%length) % n
		}
		for r, row := range rows {
			for i, round := range rounds {
				drawn[i] = row[round]
			}
			of[r] = append(of[r], median(drawn))
		}
	}
	for r, row := range rows {
		quotients := make([]float64, resamples)
		for i := range quotients {
			quotients[i] = of[r][i] / of[base][i]
		}
		medians = append(medians, interval(median(row), of[r]))
		ratios = append(ratios, interval(median(row)/median(rows[base]), quotients))
	}
	return medians, ratios
}

// interval sorts the values of the resamples.
func interval(value float64, resampled []float64) estimate {
	slices.Sort(resampled)
	return estimate{value, quantile(resampled, 0.025), quantile(resampled, 0.975)}
}

func median(values []float64) float64 {
	return quantile(slices.Sorted(slices.Values(values)), 0.5)
}

// spread is the range of the middle half of the samples over their median.
func spread(samples []float64, median float64) float64 {
	sorted := slices.Sorted(slices.Values(samples))
	return (quantile(sorted, 0.75) - quantile(sorted, 0.25)) / median
}

func quantile(sorted []float64, p float64) float64 {
	return stat.Quantile(p, stat.LinInterp, sorted, nil)
}

// noise says why no ratio can be given to a base with these samples and this median. It is empty if one can.
func noise(name string, samples []float64, median estimate) string {
	spread := spread(samples, median.value)
	switch {
	case len(samples) < fewest:
		return fmt.Sprintf("there are %d samples of %s, and an interval needs %d", len(samples), name, fewest)
	case median.halfWidth() > noisy:
		return fmt.Sprintf("the median of %s is known to %.0f %% only", name, 100*median.halfWidth())
	case spread > scattered:
		return fmt.Sprintf("the middle half of the samples of %s spans %.0f %% of their median", name, 100*spread)
	}
	return ""
}

// floorName is the name of a series that is no row.
const floorName = "floor"

// estimates returns the intervals of the first rounds of all series, and the index of the series that ratios are taken
// to. That is w.Base at its first place on the axis, or the first series if this machine lacks that.
func (w *sampled) estimates(rounds int) (medians, ratios []estimate, base int) {
	var rows [][]float64
	for _, s := range w.all {
		rows = append(rows, s.taken[:rounds])
	}
	base = max(0, slices.IndexFunc(w.all, func(s *series) bool { return s.Name == w.Base }))
	medians, ratios = bootstrap(rows, base, w.seed)
	return medians, ratios, base
}

// isNarrow reports whether the intervals of all ratios are narrow.
func (w *sampled) isNarrow(rounds int) bool {
	medians, ratios, _ := w.estimates(rounds)
	for i, s := range w.all {
		if s.Name != floorName && (ratios[i].halfWidth() > narrow || medians[i].halfWidth() > narrow) {
			return false
		}
	}
	return true
}

// group makes a group of the first rounds. It is nil if there are none, and has no rows if there are no series.
func (w *sampled) group(rounds int) *Group {
	g := &Group{
		Name: w.Name, Title: w.Title, Unit: "ns a " + w.Operation, Base: w.Base, Axis: w.Axis, Rounds: rounds,
		Notes: w.Notes, Rows: []Row{}, Marks: w.Marks, Skipped: w.skipped,
	}
	if len(w.all) == 0 {
		return g
	} else if rounds == 0 {
		return nil
	}
	medians, ratios, base := w.estimates(rounds)
	g.Base, g.Noise = w.all[base].Name, noise(w.all[base].Name, w.all[base].taken[:rounds], medians[base])
	for i, s := range w.all {
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
		row.Sentence = g.sentence(&row, w.Operation, s.Says, w.all[base].At, i == base)
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
