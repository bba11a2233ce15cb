package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// Options say how Measure measures. The zero value measures all workloads.
type Options struct {
	Workloads []Workload    // nil means all
	Rounds    int           // how often each rival is sampled; 0: until the ratios are narrow, or Limit
	Sample    time.Duration // roughly how long a sample takes; 0 means 2 ms
	Limit     time.Duration // how long a workload is sampled if Rounds is 0; 0 means DefaultLimit
	Seed      uint64        // from which orders and intervals are drawn; 0: another one each time
}

// DefaultLimit is how long a workload is sampled unless Options say otherwise.
const DefaultLimit = 12 * time.Second // of all workloads together not two minutes

const (
	// fewestRounds and stepRounds are after how many rounds Measure looks whether the ratios are narrow.
	fewestRounds = 21
	stepRounds   = 10
	// steady is how many samples in a row must be long enough before a series counts as calibrated. Mechanisms warm
	// up: a fiber's first switches may cost 50 times as much as later ones.
	steady = 3
)

// Progress is called after each sample. Left is how long the sampling of the rest may take at most, of all.
type Progress func(workload string, left, all time.Duration)

// Measure samples the rivals of each workload and returns a group for each. The samples are interleaved: each round
// takes one of every rival, in an order drawn anew, so that other load affects all of them alike. The thread of a C
// mechanism is pinned while it runs. A rival that this machine lacks is skipped, and the group says so.
//
// Measure blocks until it has measured, or until ctx is done. Then the error wraps ctx's cause, and the report holds
// what has been measured. It also returns an error if a rival cannot be opened or run, or if an option is below 0.
func Measure(ctx context.Context, o Options, progress Progress) (*Report, error) {
	if o.Rounds < 0 || o.Sample < 0 || o.Limit < 0 {
		return nil, fmt.Errorf("bench: %d rounds of %v in %v: none may be negative; 0 means the default",
			o.Rounds, o.Sample, o.Limit)
	}
	o.Sample = cmp.Or(o.Sample, 2*time.Millisecond)
	o.Limit = cmp.Or(o.Limit, DefaultLimit)
	o.Seed = cmp.Or(o.Seed, rand.Uint64())
	if o.Workloads == nil {
		o.Workloads, _ = ParseWorkloads("all")
	}
	r := &Report{Schema: Schema, Machine: ThisMachine(), Started: time.Now(), Groups: []Group{}}
	run := measurement{Options: o, rng: rand.New(rand.NewPCG(o.Seed, 1)), progress: progress}
	for i, w := range o.Workloads { // a copy: the caller's stays as it is
		run.before, run.after = o.total(o.Workloads[:i]), o.total(o.Workloads[i+1:])
		group, err := run.workload(ctx, &w)
		if group != nil {
			r.Groups = append(r.Groups, *group)
		}
		if err != nil {
			r.Stopped = ctx.Err() != nil
			return r, err
		}
	}
	return r, nil
}

// total is how long the workloads may be sampled together. With Rounds it is a guess.
func (o *Options) total(workloads []Workload) (all time.Duration) {
	for _, w := range workloads {
		if o.Rounds == 0 {
			all += o.Limit
		} else {
			all += time.Duration(o.Rounds*len(w.Rivals)) * cmp.Or(w.Sample, o.Sample)
		}
	}
	return all
}

// measurement is a run of Measure.
type measurement struct {
	Options
	rng           *rand.Rand
	progress      Progress
	before, after time.Duration // what the workloads before and after this one may take
}

// series is the samples of one rival.
type series struct {
	Mechanism
	session    Session
	operations int // that are asked for
	made       int // operations of the last sample
	taken      []float64
	calls      *float64 // system calls of an operation; nil: not counted
	executed   float64  // instructions of an operation; 0: not counted
}

// sampled is a workload, the samples of the rivals that are there, and those that are not.
type sampled struct {
	*Workload
	all     []*series
	skipped []Skipped
	seed    uint64 // of the intervals
}

// workload measures w. If it returns an error, the group holds the complete rounds; it is nil if there are none. It has
// no rows where the machine lacks all rivals.
func (m *measurement) workload(ctx context.Context, w *Workload) (group *Group, err error) {
	found := sampled{Workload: w, seed: m.Seed}
	defer func() {
		for _, s := range found.all {
			err = errors.Join(err, s.close())
		}
	}()
	rivals := w.Rivals
	if w.Floor != nil {
		rivals = append(rivals[:len(rivals):len(rivals)], Mechanism{Name: floorName, Open: w.Floor})
	}
	for _, rival := range rivals {
		s, err := openSeries(ctx, rival, cmp.Or(w.Sample, m.Sample))
		if absent := new(Absent); errors.As(err, &absent) {
			found.skipped = append(found.skipped, Skipped{rival.Name, absent.What, absent.Remedy})
			continue
		}
		if err != nil {
			return nil, err
		}
		found.all = append(found.all, s)
	}
	start := time.Now()
	for round := 1; len(found.all) > 0; round++ {
		for _, i := range m.rng.Perm(len(found.all)) {
			if err := found.all[i].take(ctx); err != nil {
				return found.group(round - 1), err
			}
			m.report(w, time.Since(start), float64(round)/float64(max(m.Rounds, 1)))
		}
		enough := round == m.Rounds
		if m.Rounds == 0 {
			enough = time.Since(start) > m.Limit ||
				round >= fewestRounds && round%stepRounds == 1 && found.isNarrow(round)
		}
		if enough {
			if w.Counted && round >= fewestRounds {
				w.Notes = append(w.Notes[:len(w.Notes):len(w.Notes)], count(found.all)...)
			}
			return found.group(round), nil
		}
	}
	return found.group(0), context.Cause(ctx)
}

// report calls progress. With Rounds, part is how much of them is taken.
func (m *measurement) report(w *Workload, elapsed time.Duration, part float64) {
	if m.progress == nil {
		return
	}
	here := m.Limit
	if m.Rounds > 0 {
		here = time.Duration(float64(elapsed) / part)
	}
	m.progress(w.Name, max(here-elapsed, 0)+m.after, m.before+here+m.after)
}

// openSeries opens m, warms it up, and finds out how many operations take about as long as target.
func openSeries(ctx context.Context, m Mechanism, target time.Duration) (*series, error) {
	session, err := m.Open()
	if err != nil {
		return nil, fmt.Errorf("bench: %s: %w", m.Name, errors.Join(err, context.Cause(ctx)))
	}
	s := &series{Mechanism: m, session: session, operations: 64}
	for long := 0; long < steady; {
		sample, err := session.Run(s.operations)
		if err = errors.Join(err, context.Cause(ctx)); err != nil {
			return nil, errors.Join(fmt.Errorf("bench: %s: %w", m.Name, err), s.close())
		}
		if sample.Elapsed >= target/2 {
			long++
			continue
		}
		long = 0
		short := float64(target) / float64(max(sample.Elapsed, 1))
		s.operations = int(float64(s.operations) * min(short, 16))
	}
	return s, nil
}

func (s *series) take(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	sample, err := s.session.Run(s.operations)
	if err != nil {
		return fmt.Errorf("bench: %s: %w", s.Name, err)
	}
	s.made = sample.Operations
	s.taken = append(s.taken, sample.PerOperation())
	return nil
}

func (s *series) close() error {
	if err := s.session.Close(); err != nil {
		return fmt.Errorf("bench: closing %s: %w", s.Name, err)
	}
	return nil
}
