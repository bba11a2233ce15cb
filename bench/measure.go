package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat"
)

// DefaultRounds is how often Measure samples each mechanism unless Options say otherwise.
const DefaultRounds = 51

// Options say how Measure measures. The cost table uses the zero value.
type Options struct {
	Rounds int           // how often each mechanism is sampled; 0 means DefaultRounds
	Sample time.Duration // roughly how long a sample takes; 0 means 3 ms

	Mechanisms []Mechanism // what is measured; ratios are to the first one; nil means Mechanisms()
}

// SwitchCost is what Measure found for one mechanism. Times are nanoseconds a switch. Each is the time of one
// sample; none is interpolated.
type SwitchCost struct {
	Mechanism string  `json:"mechanism"`
	Median    float64 `json:"median_ns"`
	Q1        float64 `json:"q1_ns"`
	Q3        float64 `json:"q3_ns"`
	Min       float64 `json:"min_ns"`
	Max       float64 `json:"max_ns"`
	Ratio     float64 `json:"ratio_to_asm"` // of the medians
	Samples   int     `json:"samples"`
	Switches  int     `json:"switches_per_sample"`
}

// Measure samples every mechanism Rounds times and returns one row for each, in the order of o.Mechanisms. The samples
// are interleaved: each round takes one of every mechanism, so that other load affects all of them alike and the ratios
// hold. After every sample it calls progress, unless that is nil, with the number of samples taken and the number to
// take. It blocks until the last sample, or until ctx is done; then the error wraps ctx's cause. It also returns
// an error if a mechanism cannot be opened or run, or if an option is below 0.
func Measure(ctx context.Context, o Options, progress func(done, total int)) (rows []SwitchCost, err error) {
	if o.Rounds == 0 {
		o.Rounds = DefaultRounds
	}
	if o.Sample == 0 {
		o.Sample = 3 * time.Millisecond
	}
	if o.Mechanisms == nil {
		o.Mechanisms = Mechanisms()
	}
	if o.Rounds < 0 || o.Sample < 0 {
		return nil, fmt.Errorf(
			"bench: %d rounds of %v: neither may be negative; 0 means the default", o.Rounds, o.Sample,
		)
	}
	var all []*series
	defer func() {
		for _, s := range all {
			err = errors.Join(err, s.close())
		}
	}()
	for _, m := range o.Mechanisms {
		s, err := openSeries(ctx, m, o.Sample)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	for round := range o.Rounds {
		for i, s := range all {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			if err := s.take(); err != nil {
				return nil, err
			}
			if progress != nil {
				progress(round*len(all)+i+1, o.Rounds*len(all))
			}
		}
	}
	return summarise(all), nil
}

// series is the samples of one mechanism.
type series struct {
	name     string
	session  Session
	switches int // a sample
	taken    []float64
}

// steady is how many samples in a row must be long enough before a series counts as calibrated. Mechanisms
// warm up: a fiber's first switches may cost 50 times as much as later ones.
const steady = 3

// openSeries opens m, warms it up, and finds out how many switches take about as long as target.
func openSeries(ctx context.Context, m Mechanism, target time.Duration) (*series, error) {
	session, err := m.Open()
	if err != nil {
		return nil, fmt.Errorf("bench: %s: %w", m.Name, err)
	}
	s := &series{name: m.Name, session: session, switches: 64}
	for long := 0; long < steady; {
		sample, err := session.Switch(s.switches)
		if err = errors.Join(err, context.Cause(ctx)); err != nil {
			return nil, errors.Join(fmt.Errorf("bench: %s: %w", m.Name, err), s.close())
		}
		if sample.Elapsed >= target/2 {
			long++
			continue
		}
		long = 0
		short := float64(target) / float64(max(sample.Elapsed, 1))
		s.switches = int(float64(s.switches) * min(short, 16))
	}
	return s, nil
}

func (s *series) take() error {
	sample, err := s.session.Switch(s.switches)
	if err != nil {
		return fmt.Errorf("bench: %s: %w", s.name, err)
	}
	s.taken = append(s.taken, sample.PerSwitch())
	return nil
}

func (s *series) close() error {
	if err := s.session.Close(); err != nil {
		return fmt.Errorf("bench: closing %s: %w", s.name, err)
	}
	return nil
}

// summarise returns a row for each series; ratios are to the first one.
func summarise(all []*series) []SwitchCost {
	rows := make([]SwitchCost, len(all))
	for i, s := range all {
		sorted := slices.Sorted(slices.Values(s.taken))
		quantile := func(p float64) float64 { return stat.Quantile(p, stat.Empirical, sorted, nil) }
		rows[i] = SwitchCost{
			Mechanism: s.name,
			Median:    quantile(0.5), Q1: quantile(0.25), Q3: quantile(0.75),
			Min: sorted[0], Max: sorted[len(sorted)-1],
			Samples: len(sorted), Switches: s.switches,
		}
		rows[i].Ratio = rows[i].Median / rows[0].Median
	}
	return rows
}
