package report

import (
	"cmp"
	"fmt"
	"slices"

	"fiberlab/bench"
	"fiberlab/bench/predict"
)

// guessesSection lays the guesses of each figure around what was measured.
func guessesSection(all []predict.Compared) section {
	s := section{
		ID: "guesses", Title: "Guesses, and what was measured",
		Head: []string{"row", "measured", "95 % interval", "guesses", "least", "middle", "most", "the middle one is"},
	}
	p := &plot{ID: "guesses-plot", Kind: "rows", X: "ns", Marks: []mark{}, Guesses: true}
	for _, c := range all {
		var guesses []float64
		for _, g := range c.Guesses {
			guesses = append(guesses, g.Guess)
		}
		middle := c.Middle()
		p.add(c.Name, c.Median, c.Low, c.High, guesses)
		least, most := slices.Min(guesses), slices.Max(guesses)
		p.Told = append(p.Told, fmt.Sprintf("%s: measured %s; guesses: %d, from %s to %s. The middle one, %s, is %s.",
			c.Name, duration(c.Median), len(guesses), duration(least), duration(most), duration(middle.Guess),
			c.Verdict(middle)))
		s.Rows = append(s.Rows, []string{
			c.Name, duration(c.Median), interval(c.Low, c.High), bench.Whole(float64(len(guesses))), duration(least),
			duration(middle.Guess), duration(most), c.Verdict(middle),
		})
	}
	byOff := func(a, b predict.Compared) int { return cmp.Compare(a.Middle().Off(), b.Middle().Off()) }
	best, worst := slices.MinFunc(all, byOff), slices.MaxFunc(all, byOff)
	p.Alternative = fmt.Sprintf("%s: %d rows on a logarithmic axis; the table has the figures.", s.Title, len(all))
	s.Text = []string{fmt.Sprintf("Each dot is a guess, and the bar is what was measured. The axis is logarithmic: "+
		"equal distances from the bar are equal factors. The middle guess of %s is %s.",
		best.Name, best.Verdict(best.Middle()))}
	if len(all) > 1 {
		s.Text = append(s.Text, fmt.Sprintf("It is the best one. The worst is that of %s: %s.",
			worst.Name, worst.Verdict(worst.Middle())))
	}
	s.Plot = p
	return s
}
