package bench

import (
	"fmt"
	"math"
	"slices"

	"golang.org/x/perf/benchmath"
	"gonum.org/v1/gonum/stat/combin"
)

// alpha is the chance that Compare, which makes many tests, calls any row changed that is not.
const alpha = 0.05

// Change is how a row of one report differs from that row of another.
type Change struct {
	Group, Name string  // Name is the row's Label
	Old, New    float64 // medians
	Factor      float64 // new over old: of the medians of what was tested, samples or ratios; NaN if nothing was
	P           float64 // of the rank test; NaN if none was made
	Changed     bool    // beyond noise
	Sentence    string

	base  string  // to which the ratios are that were tested; empty: samples were
	least float64 // P of samples that do not overlap at all
}

// Compare says how the rows that both reports have differ. By a rank test (Mann-Whitney) it compares the samples of a
// base, and for other rows the ratios to the base of each round. What slows the whole machine down changes no ratio.
// The test assumes that what it compares is independent: it is given the medians of blocks of rounds. A row is changed
// if the test, corrected for the number of rows (Bonferroni), says so, and the change exceeds what Measure leaves open,
// 3 %. Of samples too few for that limit nothing is said. Compare returns an error if the reports share no row.
func Compare(old, new *Report) ([]Change, error) {
	var changes []Change
	for i := range new.Groups {
		g := &new.Groups[i]
		before := old.Group(g.Name)
		if before == nil {
			continue
		}
		for j := range g.Rows {
			if row := before.Row(g.Rows[j].Name, g.Rows[j].At); row != nil {
				changes = append(changes, compareRows(before, g, row, &g.Rows[j]))
			}
		}
	}
	if changes == nil {
		return nil, fmt.Errorf("the reports have no row in common: measure the same workloads again")
	}
	for i := range changes {
		changes[i].judge(len(changes))
	}
	return changes, nil
}

func compareRows(before, after *Group, a, b *Row) Change {
	c := Change{
		Group: after.Name, Name: after.Label(b), Old: a.Median, New: b.Median,
		Factor: math.NaN(), P: math.NaN(),
	}
	old, new := a.Samples, b.Samples
	if b != after.base() {
		c.base = after.Base
		old, new = before.quotients(a), after.quotients(b)
	}
	switch {
	case before.Noise != "" || after.Noise != "" || len(old) == 0 || len(new) == 0:
		c.Sentence = "It cannot be told: a run was too noisy, or too short."
		return c
	case c.base != "" && before.Base != after.Base:
		c.Sentence = fmt.Sprintf("It cannot be told: the old ratios are to %s, the new ones to %s.", before.Base, after.Base)
		return c
	}
	old, new = blocks(old), blocks(new)
	c.least = 2 / combin.GeneralizedBinomial(float64(len(old)+len(new)), float64(len(old)))
	// Compare needs no more of a distribution than an order.
	c.P = benchmath.AssumeNothing.Compare(benchmath.NewSample(old, &benchmath.DefaultThresholds),
		benchmath.NewSample(new, &benchmath.DefaultThresholds)).P
	c.Factor = median(new) / median(old)
	return c
}

// blocks returns the median of each block of rounds.
func blocks(rounds []float64) (medians []float64) {
	for part := range slices.Chunk(rounds, block(len(rounds))) {
		medians = append(medians, median(part))
	}
	return medians
}

// quotients returns the samples of the row, each divided by the base's sample of that round, or nil without a base.
func (g *Group) quotients(r *Row) (list []float64) {
	base := g.base()
	if base == nil || len(base.Samples) != len(r.Samples) {
		return nil
	}
	for round, s := range r.Samples {
		list = append(list, s/base.Samples[round])
	}
	return list
}

// base returns the row to which ratios are taken, or nil. It is the first one of its name.
func (g *Group) base() *Row {
	for i := range g.Rows {
		if g.Rows[i].Name == g.Base {
			return &g.Rows[i]
		}
	}
	return nil
}

// judge decides, as one of that many rows.
func (c *Change) judge(rows int) {
	if c.Sentence != "" {
		return
	}
	limit := alpha / float64(rows)
	c.Changed = c.P < limit && math.Abs(c.Factor-1) > narrow
	change, beside := 100*(c.Factor-1), ", or the whole machine is"
	if c.base != "" {
		beside = " beside " + c.base
	}
	switch {
	case c.least >= limit:
		c.Sentence = fmt.Sprintf("It cannot be told: there are too few samples for %d rows.", rows)
	case !c.Changed:
		c.Sentence = "No change beyond noise."
	case change > 0:
		c.Sentence = fmt.Sprintf("Slower by %.0f %%%s (p = %.2g).", change, beside, c.P)
	default:
		c.Sentence = fmt.Sprintf("Faster: it takes %.0f %% less%s (p = %.2g).", -change, beside, c.P)
	}
}
