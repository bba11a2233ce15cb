package bench

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/perf/benchfmt"
)

// planted is a rival whose operation costs what cost says, without any work: a calibrated spin on a clock of its own.
type planted struct {
	cost   func() float64 // nanoseconds
	runs   int
	order  *[]string
	name   string
	closed *int
}

func (p *planted) Run(n int) (Sample, error) {
	p.runs++
	if p.order != nil {
		*p.order = append(*p.order, p.name)
	}
	return Sample{n, time.Duration(float64(n) * p.cost())}, nil
}

func (p *planted) Close() error {
	if p.closed != nil {
		*p.closed++
	}
	return nil
}

// plant is a workload of rivals whose costs are drawn.
func plant(costs map[string]func() float64, names ...string) Workload {
	w := Workload{Name: "planted", Title: "Planted", Operation: "spin", Base: names[0]}
	for _, name := range names {
		w.Rivals = append(w.Rivals, Mechanism{Name: name, Says: "it spins", Open: func() (Session, error) {
			return &planted{cost: costs[name]}, nil
		}})
	}
	return w
}

func measured(t *testing.T, w Workload, o Options) *Group {
	t.Helper()
	o.Workloads = []Workload{w}
	o.Seed++ // 0 would be another one each time
	r, err := Measure(t.Context(), o, nil)
	require.NoError(t, err)
	require.Len(t, r.Groups, 1)
	return &r.Groups[0]
}

// scatter draws costs around mean: most are near it, and one of ten was disturbed.
func scatter(mean float64, seed uint64) func() float64 {
	rng := rand.New(rand.NewPCG(seed, 2))
	return func() float64 {
		cost := mean * math.Exp(0.03*rng.NormFloat64())
		if rng.Float64() < 0.1 {
			cost *= 1 + 3*rng.Float64()
		}
		return cost
	}
}

func TestAKnownCostIsRecovered(t *testing.T) {
	for seed := range uint64(20) {
		w := plant(map[string]func() float64{"base": scatter(10, seed), "spin": scatter(34, seed+100)}, "base", "spin")
		g := measured(t, w, Options{Seed: seed})
		require.Empty(t, g.Noise)
		require.InEpsilon(t, 34, g.Row("spin", 0).Median, 0.05, "seed %d", seed)
		require.InEpsilon(t, 3.4, g.Row("spin", 0).Ratio, 0.05, "seed %d", seed)
		require.Less(t, g.Rounds, 400, "it must stop when the intervals are narrow")
		require.Contains(t, g.Row("spin", 0).Sentence, "times the cost by base: it spins.")
	}
}

// A neighbour takes the processor for whole stretches of the run, or from one rival alone.
func TestANoisyNeighbourIsNoticed(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	neighbour := func(mean float64) func() float64 {
		return func() float64 { return mean * (1 + 2*math.Round(rng.Float64())) }
	}
	costs := map[string]func() float64{
		"quiet": scatter(10, 1), "also": scatter(20, 2), "disturbed": neighbour(20), "base": neighbour(10),
	}
	g := measured(t, plant(costs, "base", "also"), Options{Rounds: 41})
	require.Contains(t, g.Noise, "base")
	for _, r := range g.Rows {
		require.Zero(t, r.Ratio)
		require.Contains(t, r.Sentence, " takes ")
	}
	g = measured(t, plant(costs, "quiet", "also", "disturbed"), Options{Rounds: 41})
	require.Empty(t, g.Noise)
	require.InEpsilon(t, 2, g.Row("also", 0).Ratio, 0.05)
	require.Zero(t, g.Row("disturbed", 0).Ratio)
	require.Contains(t, g.Row("disturbed", 0).Sentence, "It cannot be told")
}

// Ratios of one run and of the next agree within 10 %, or are not given. A neighbour disturbs stretches of rounds of
// all rivals, or of one, and none at all of some runs.
func TestTwoRunsAgreeOrCannotTell(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	run := func(seed uint64) *Group {
		costs, left, often := map[string]func() float64{}, map[string]int{}, 0.05*rng.Float64()
		names := []string{"base", "near", "far", "slow"}
		for i, name := range names {
			quiet := scatter(math.Pow(7, float64(i)), seed*10+uint64(i))
			costs[name] = func() float64 {
				if rng.Float64() < often { // for some rounds of this rival, or of all
					for _, other := range names {
						if other == name || i == 0 {
							left[other] = 1 + rng.IntN(8)
						}
					}
				}
				if left[name]--; left[name] >= 0 {
					return quiet() * (1.2 + rng.Float64())
				}
				return quiet()
			}
		}
		return measured(t, plant(costs, names...), Options{Rounds: 61, Seed: seed})
	}
	told, untold := 0, 0
	for seed := range uint64(20) {
		one, other := run(2*seed), run(2*seed+1)
		for i := range one.Rows[1:] {
			a, b := one.Rows[i+1].Ratio, other.Rows[i+1].Ratio
			if a == 0 || b == 0 {
				untold++
				continue
			}
			told++
			require.Less(t, max(a/b, b/a), 1.1, "seed %d, %s", seed, one.Rows[i+1].Name)
		}
	}
	require.Greater(t, told, 10)
	require.Greater(t, untold, 10)
}

func TestFewSamplesGiveNoRatio(t *testing.T) {
	w := plant(map[string]func() float64{"base": scatter(10, 1), "spin": scatter(34, 2)}, "base", "spin")
	g := measured(t, w, Options{Rounds: fewest - 1})
	require.Contains(t, g.Noise, "there are 4 samples of base, and an interval needs 5")
	require.Zero(t, g.Row("spin", 0).Ratio)
}

// The intervals hold the truth about as often as they say.
func TestIntervalsHoldTheTruth(t *testing.T) {
	held, runs := 0, 200
	if testing.Short() {
		runs = 100
	}
	for seed := range uint64(runs) {
		base, spin := scatter(10, seed), scatter(34, seed+1000)
		rows := make([][]float64, 2)
		for range 41 {
			rows[0], rows[1] = append(rows[0], base()), append(rows[1], spin())
		}
		_, ratios := bootstrap(rows, 0, seed)
		if ratios[1].low <= 3.4 && 3.4 <= ratios[1].high {
			held++
		}
	}
	require.Greater(t, held, runs*85/100)
	require.Less(t, held, runs, "the intervals are too wide to say anything")
}

func TestOrdersAreDrawnFromTheSeed(t *testing.T) {
	orders := func(seed uint64) (order []string) {
		w := Workload{Name: "planted", Operation: "spin", Base: "a"}
		for _, name := range []string{"a", "b", "c"} {
			w.Rivals = append(w.Rivals, Mechanism{Name: name, Open: func() (Session, error) {
				return &planted{cost: func() float64 { return 5 }, order: &order, name: name}, nil
			}})
		}
		measured(t, w, Options{Rounds: 10, Seed: seed})
		return order[len(order)-30:]
	}
	require.Equal(t, orders(1), orders(1))
	require.NotEqual(t, orders(1), orders(2))
	first := orders(1)
	require.NotEqual(t, first[:15], first[15:], "each round has an order of its own")
	for round := range 10 {
		require.ElementsMatch(t, []string{"a", "b", "c"}, first[3*round:3*round+3])
	}
}

func TestAnInterruptedRunKeepsWholeRounds(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("that is enough")
	calls, closed := 0, 0
	w := Workload{Name: "planted", Operation: "spin", Base: "a"}
	for _, name := range []string{"a", "b", "c"} {
		w.Rivals = append(w.Rivals, Mechanism{Name: name, Open: func() (Session, error) {
			return &planted{cost: func() float64 { return 5 }, closed: &closed}, nil
		}})
	}
	r, err := Measure(ctx, Options{Workloads: []Workload{w, w}}, func(name string, left, all time.Duration) {
		calls++
		require.Equal(t, "planted", name)
		require.Greater(t, left, DefaultLimit/2, "a second workload is to come")
		require.Equal(t, 2*DefaultLimit, all)
		if calls == 11 {
			cancel(enough)
		}
	})
	require.ErrorIs(t, err, enough)
	require.True(t, r.Stopped)
	require.Len(t, r.Groups, 1)
	require.Equal(t, 3, r.Groups[0].Rounds)
	require.Len(t, r.Groups[0].Rows[2].Samples, 3)
	require.Equal(t, 3, closed)
}

func TestAFailedRivalFailsAndAnAbsentOneIsSkipped(t *testing.T) {
	w := plant(map[string]func() float64{"a": func() float64 { return 5 }}, "a")
	w.Rivals = append(w.Rivals, Mechanism{Name: "boost", Open: func() (Session, error) {
		return nil, &Absent{"no header boost/context", "apt-get install libboost-context-dev"}
	}})
	g := measured(t, w, Options{Rounds: 2})
	require.Len(t, g.Rows, 1)
	require.Equal(t, []Skipped{{"boost", "no header boost/context", "apt-get install libboost-context-dev"}}, g.Skipped)

	w.Rivals = append(w.Rivals, Mechanism{Name: "bad", Open: func() (Session, error) { return nil, errors.New("broken") }})
	_, err := Measure(t.Context(), Options{Workloads: []Workload{w}}, nil)
	require.EqualError(t, err, "bench: bad: broken")
	none := w
	none.Rivals = w.Rivals[1:2]
	for _, rounds := range []int{0, 2} {
		g = measured(t, none, Options{Rounds: rounds})
		require.Empty(t, g.Rows)
		require.Len(t, g.Skipped, 1)
	}
	ctx, cancel := context.WithCancel(t.Context())
	w.Rivals[len(w.Rivals)-1].Open = func() (Session, error) { cancel(); return nil, errors.New("its compiler was ended") }
	_, err = Measure(ctx, Options{Workloads: []Workload{w}}, nil)
	require.ErrorIs(t, err, context.Canceled)
	_, err = Measure(t.Context(), Options{Rounds: -1}, nil)
	require.ErrorContains(t, err, "negative")
}

// What is measured once may be measured again: a workload keeps no note of the machine.
func TestWorkloadsAreMeasuredTwice(t *testing.T) {
	w := plant(map[string]func() float64{"a": func() float64 { return 5 }}, "a")
	w.Counted = true
	workloads := []Workload{w}
	for range 2 {
		r, err := Measure(t.Context(), Options{Workloads: workloads, Rounds: fewestRounds}, nil)
		require.NoError(t, err)
		require.NotEmpty(t, r.Groups[0].Notes)
		require.Empty(t, workloads[0].Notes)
	}
}

// The workload of the switch is measured as it is, in a few rounds.
func TestMeasureSwitches(t *testing.T) {
	requireReleased(t)
	g := measured(t, Switch(), Options{Rounds: 3, Sample: 100 * time.Microsecond})
	require.Len(t, g.Rows, len(Mechanisms())-len(g.Skipped))
	for _, r := range g.Rows {
		require.Positive(t, r.Low, r.Name)
		require.LessOrEqual(t, r.Low, r.Median)
		require.LessOrEqual(t, r.Median, r.High)
		require.Len(t, r.Samples, 3)
	}
	require.Positive(t, g.Floor)
	require.Nil(t, g.Row(floorName, 0))
}

func TestCompareFindsWhatChanged(t *testing.T) {
	report := func(seed uint64, scale, spin float64) *Report {
		costs := map[string]func() float64{"base": scatter(scale*10, seed), "spin": scatter(scale*spin, seed+50)}
		return &Report{Groups: []Group{*measured(t, plant(costs, "base", "spin"), Options{Rounds: 51, Seed: seed})}}
	}
	old := report(1, 1, 30)
	changed := func(new *Report) (list []bool) {
		changes, err := Compare(old, new)
		require.NoError(t, err)
		for _, c := range changes {
			list = append(list, c.Changed)
		}
		return list
	}
	require.Equal(t, []bool{false, false}, changed(old))
	require.Equal(t, []bool{false, false}, changed(report(2, 1, 30)))
	require.Equal(t, []bool{false, true}, changed(report(3, 1, 33)))
	require.Equal(t, []bool{true, false}, changed(report(4, 1.3, 30)), "a slower machine changes no ratio")

	changes, err := Compare(old, report(6, 0.5, 36))
	require.NoError(t, err)
	require.Less(t, changes[1].New, changes[1].Old)
	require.Contains(t, changes[1].Sentence, "Slower by", "the machine is faster, but the row is not as much")
	require.Contains(t, changes[1].Sentence, "beside base")
	changes, err = Compare(old, &Report{Groups: []Group{{
		Name: "planted", Base: "spin",
		Rows: []Row{{Name: "spin", Samples: []float64{1}}, {Name: "base", Samples: []float64{1}}},
	}}})
	require.NoError(t, err)
	require.Contains(t, changes[0].Sentence, "too few samples for 2 rows")
	require.Contains(t, changes[1].Sentence, "the old ratios are to base, the new ones to spin")

	noisy := report(5, 1, 60)
	noisy.Groups[0].Noise = "a neighbour"
	changes, err = Compare(old, noisy)
	require.NoError(t, err)
	require.Contains(t, changes[1].Sentence, "It cannot be told: a run was too noisy")
	_, err = Compare(old, &Report{})
	require.ErrorContains(t, err, "no row in common")
}

func TestFormats(t *testing.T) {
	w := plant(map[string]func() float64{"a": scatter(5, 1), "b": scatter(10, 2)}, "a", "b")
	r, err := Measure(t.Context(), Options{Workloads: []Workload{w}, Rounds: 7}, nil)
	require.NoError(t, err)
	var text bytes.Buffer
	require.NoError(t, r.WriteCSV(&text))
	lines, err := csv.NewReader(&text).ReadAll()
	require.NoError(t, err)
	require.Len(t, lines, 3)
	require.Equal(t, []string{"planted", "b", "ns a spin"}, lines[2][:3])

	text.Reset()
	r.Machine.CPU, r.Machine.Emulated = "Planted", true
	require.NoError(t, r.WriteBenchstat(&text))
	read := 0
	for reader := benchfmt.NewReader(&text, "memory"); reader.Scan(); read++ {
		result, ok := reader.Result().(*benchfmt.Result)
		require.True(t, ok, "%v", reader.Result())
		require.Contains(t, []string{"Planted/a", "Planted/b"}, string(result.Name))
		for key, value := range map[string]string{
			"goarch": r.Machine.Arch, "pkg": "fiberlab/bench", "cpu": "Planted", "emulated": "true",
		} {
			require.Equal(t, value, result.GetConfig(key))
		}
	}
	require.Equal(t, 14, read)
}
