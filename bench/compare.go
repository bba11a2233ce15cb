package bench

import (
	"fmt"
	"math"

	"golang.org/x/perf/benchmath"
)

// alpha is the chance that Compare, which makes many tests, calls any row changed that is not.
const alpha = 0.05

// Change is how a row of one report differs from that row of another.
type Change struct {
	Group, Name string
	At          float64
	Unit        string
	Old, New    float64 // medians
	P           float64 // of the rank test; NaN if none was made
	Changed     bool    // beyond noise
	Sentence    string
}

// Compare says how the rows that both reports have differ. By a rank test (Mann-Whitney) it compares the samples of a
// base, and for other rows the ratios of each round to the base: what slows the whole machine down changes no ratio. A
// row is changed if the test, corrected for the number of rows (Bonferroni), says so, and the change exceeds what
// Measure leaves open, 3 %. Compare returns an error if the reports have no row in common.
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
		changes[i].judge(alpha / float64(len(changes)))
	}
	return changes, nil
}

func compareRows(before, after *Group, a, b *Row) Change {
	c := Change{
		Group: after.Name, Name: b.Name, At: b.At, Unit: after.Unit, Old: a.Median, New: b.Median, P: math.NaN(),
	}
	old, new := a.Samples, b.Samples
	if b != after.base() {
		old, new = before.quotients(a), after.quotients(b)
	}
	if before.Noise != "" || after.Noise != "" || old == nil || new == nil {
		return c
	}
	// Compare needs no more of a distribution than an order.
	c.P = benchmath.AssumeNothing.Compare(benchmath.NewSample(old, &benchmath.DefaultThresholds),
		benchmath.NewSample(new, &benchmath.DefaultThresholds)).P
	c.Changed = math.Abs(median(new)/median(old)-1) > narrow
	return c
}

// quotients returns the samples of the row over those of the base in the same rounds, or nil without a base.
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

// judge decides with that limit for P.
func (c *Change) judge(limit float64) {
	c.Changed = c.Changed && c.P < limit
	change := 100 * (c.New/c.Old - 1)
	switch {
	case math.IsNaN(c.P):
		c.Sentence = "It cannot be told: a run was too noisy."
	case !c.Changed:
		c.Sentence = "No change beyond noise."
	case c.New > c.Old:
		c.Sentence = fmt.Sprintf("Slower by %.0f %% (p = %.2g).", change, c.P)
	default:
		c.Sentence = fmt.Sprintf("Faster: it takes %.0f %% less (p = %.2g).", -change, c.P)
	}
}
