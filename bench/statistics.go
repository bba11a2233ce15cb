package bench

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

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
