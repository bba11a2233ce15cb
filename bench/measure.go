package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat"
)

// DefaultRounds is how often Measure samples each mechanism unless it is told otherwise.
const DefaultRounds = 51

// Options say how Measure measures. The zero value is what the cost table uses.
type Options struct {
	Rounds int           // how often each mechanism is sampled; 0 means DefaultRounds
	Sample time.Duration // how long a sample takes, roughly; 0 means 3 ms
}

// Row is what Measure found for one mechanism. Times are nanoseconds a switch; each is that of one
// sample, none is interpolated.
type Row struct {
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

// Measure samples every mechanism Rounds times and returns one row for each, in the order of
// Mechanisms. The samples are interleaved: each round takes one of every mechanism, so that whatever
// else the machine does hits all of them alike and the ratios hold. It calls progress, unless that is
// nil, after every sample with the samples taken and the samples to take. It blocks until done, or
// until ctx is done, whose error it then returns.
func Measure(ctx context.Context, o Options, progress func(done, total int)) (rows []Row, err error) {
	if o.Rounds == 0 {
		o.Rounds = DefaultRounds
	}
	if o.Sample == 0 {
		o.Sample = 3 * time.Millisecond
	}
	if o.Rounds < 0 || o.Sample < 0 {
		return nil, fmt.Errorf("bench: %d rounds of %v: neither may be negative", o.Rounds, o.Sample)
	}
	var lanes []*lane
	defer func() {
		for _, l := range lanes {
			err = errors.Join(err, l.close())
		}
	}()
	for _, m := range Mechanisms() {
		l, err := openLane(ctx, m, o.Sample)
		if err != nil {
			return nil, err
		}
		lanes = append(lanes, l)
	}
	for round := range o.Rounds {
		for i, l := range lanes {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if err := l.sample(); err != nil {
				return nil, err
			}
			if progress != nil {
				progress(round*len(lanes)+i+1, o.Rounds*len(lanes))
			}
		}
	}
	return summarise(lanes), nil
}

// lane is one mechanism on its way through the rounds.
type lane struct {
	name     string
	session  Session
	switches int // a sample
	taken    []float64
}

// steady is how many samples in a row must be long enough before a lane counts as calibrated. Mechanisms
// warm up: a fiber's first switches may cost 50 times the later ones.
const steady = 3

// openLane opens m, warms it up and finds out how many switches take about as long as target.
func openLane(ctx context.Context, m Mechanism, target time.Duration) (*lane, error) {
	session, err := m.Open()
	if err != nil {
		return nil, fmt.Errorf("bench: %s: %w", m.Name, err)
	}
	l := &lane{name: m.Name, session: session, switches: 64}
	for long := 0; long < steady; {
		s, err := session.Switch(l.switches)
		if err = errors.Join(err, ctx.Err()); err != nil {
			return nil, errors.Join(fmt.Errorf("bench: %s: %w", m.Name, err), l.close())
		}
		if s.Elapsed >= target/2 {
			long++
			continue
		}
		long = 0
		short := float64(target) / float64(max(s.Elapsed, 1))
		l.switches = int(float64(l.switches) * min(short, 16))
	}
	return l, nil
}

func (l *lane) sample() error {
	s, err := l.session.Switch(l.switches)
	if err != nil {
		return fmt.Errorf("bench: %s: %w", l.name, err)
	}
	l.taken = append(l.taken, s.PerSwitch())
	return nil
}

func (l *lane) close() error {
	if err := l.session.Close(); err != nil {
		return fmt.Errorf("bench: closing %s: %w", l.name, err)
	}
	return nil
}

func summarise(lanes []*lane) []Row {
	rows := make([]Row, len(lanes))
	for i, l := range lanes {
		sorted := slices.Sorted(slices.Values(l.taken))
		quantile := func(p float64) float64 { return stat.Quantile(p, stat.Empirical, sorted, nil) }
		rows[i] = Row{
			Mechanism: l.name,
			Median:    quantile(0.5), Q1: quantile(0.25), Q3: quantile(0.75),
			Min: sorted[0], Max: sorted[len(sorted)-1],
			Samples: len(sorted), Switches: l.switches,
		}
		rows[i].Ratio = rows[i].Median / rows[0].Median
	}
	return rows
}
