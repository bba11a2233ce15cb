package predict

import (
	"cmp"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/stat"

	"fiberlab/bench"
)

// Compared is the figures of a row, in nanoseconds, and what people guessed of it.
type Compared struct {
	Name    string   `json:"name"`
	Median  float64  `json:"median_ns"`
	Low     float64  `json:"low_ns"`
	High    float64  `json:"high_ns"`
	Guesses []Scored `json:"guesses"`
}

// Scored is one guess. Factor is the guess over the median: 1 is right, 2 is twice too much, 0.5 half of it.
type Scored struct {
	By     string  `json:"by"`
	Guess  float64 `json:"guess_ns"`
	Factor float64 `json:"factor"`
}

// Compare lays the guesses of all people beside the rows, in the order of the rows. A row of which nobody made a guess
// is left out.
func Compare(rows []bench.Row, people []Guesses) []Compared {
	var all []Compared
	for _, r := range rows {
		c := Compared{Name: r.Name, Median: r.Median, Low: r.Low, High: r.High}
		for _, g := range people {
			if guess, made := g.Costs[r.Name]; made {
				c.Guesses = append(c.Guesses, Scored{g.By, guess, guess / r.Median})
			}
		}
		if len(c.Guesses) > 0 {
			all = append(all, c)
		}
	}
	return all
}

// Off is by which factor, at least 1, the guess was off in either direction.
func (s Scored) Off() float64 { return max(s.Factor, 1/s.Factor) }

// Middle is the median of the guesses: of an even number, the lower one of the two in the middle.
func (c Compared) Middle() Scored {
	sorted := slices.Clone(c.Guesses)
	slices.SortFunc(sorted, func(a, b Scored) int { return cmp.Compare(a.Guess, b.Guess) })
	return sorted[(len(sorted)-1)/2]
}

// MeanOff is the geometric mean of the factors by which all guesses of one person were off. It is NaN if nothing of
// what the person guessed was measured.
func MeanOff(all []Compared, by string) float64 {
	var factors []float64
	for _, c := range all {
		for _, s := range c.Guesses {
			if s.By == by {
				factors = append(factors, s.Off())
			}
		}
	}
	return stat.GeometricMean(factors, nil)
}

// Verdict says by which factor a guess of c was off: "right" if it is within the interval.
func (c Compared) Verdict(s Scored) string {
	factor := bench.Figure(s.Off())
	switch {
	case s.Guess >= c.Low && s.Guess <= c.High:
		return "right"
	case s.Factor > 1:
		return fmt.Sprintf("%s times too much", factor)
	}
	return fmt.Sprintf("too little by a factor of %s", factor)
}
