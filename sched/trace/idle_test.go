package trace_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/sched"
	"fiberlab/sched/trace"
)

// A recorder knows when workers spin, and which worker has woken which, in what state.
func TestIdling(t *testing.T) {
	for _, b := range fiber.Backends() {
		for _, spinners := range []int{-1, 2} {
			t.Run(fmt.Sprintf("%v/spinners=%d", b, spinners), func(t *testing.T) {
				r := trace.NewRecorder(1 << 16)
				s, err := sched.New(sched.Config{
					Workers: 4, Backend: b, Policy: sched.Group, Groups: sched.Groups{Spinners: spinners},
					Recorder: r,
				})
				require.NoError(t, err)
				awake := func() (n uint64) {
					for _, g := range s.Stats().Groups {
						n += g.Spinners + g.Sleepers
					}
					return n
				}
				// From outside, and from tasks.
				begun := make(chan int)
				for range 50 {
					require.NoError(t, s.Go(func() {
						worker := sched.Current().Worker().ID()
						if err := s.Go(func() { begun <- worker }); err != nil {
							t.Error(err)
						}
					}))
					<-begun
				}
				require.NoError(t, s.Close())
				woken, spins := map[sched.Kind]uint64{}, map[int]bool{}
				outside, inside := 0, 0
				for _, e := range r.Events() {
					switch e.Kind {
					case sched.KindSpinBegan, sched.KindSpinEnded:
						require.Equal(t, e.Kind == sched.KindSpinEnded, spins[e.Worker], "worker %d spins", e.Worker)
						spins[e.Worker] = e.Kind == sched.KindSpinBegan
					case sched.KindStole, sched.KindCompleted:
						require.Positive(t, e.Count)
					case sched.KindWokenSpinning, sched.KindWokenAsleep:
						woken[e.Kind]++
						if e.By < 0 {
							outside++
						} else {
							inside++
							require.NotEqual(t, e.Worker, e.By, "a worker has woken itself")
						}
					}
				}
				for worker, is := range spins {
					require.False(t, is, "worker %d spins at the end", worker)
				}
				require.Equal(
					t, awake(), woken[sched.KindWokenSpinning]+woken[sched.KindWokenAsleep], "wake-ups that are counted",
				)
				require.Positive(t, outside, "wake-ups from outside")
				require.Positive(t, inside, "wake-ups by tasks")
				require.Equal(t, spinners > 0, len(spins) > 0, "workers spin only where they may")
				if spinners < 0 {
					require.Zero(t, woken[sched.KindWokenSpinning])
				}

				var text bytes.Buffer
				require.NoError(t, r.WriteTrace(&text))
				events, _ := parseAll(t, text.Bytes())
				classes := map[string]int{}
				for _, list := range events {
					for _, e := range list {
						classes[e.Cat]++
					}
				}
				require.Equal(t, outside+inside, classes["woken"])
				require.Equal(t, inside, classes["wake"])
				require.Equal(t, spinners > 0, classes["spin"] > 0)
			})
		}
	}
}

// What is drawn of workers that idle: a spin from its beginning to its end, a wake-up on the tracks of both.
func TestTraceOfIdling(t *testing.T) {
	r := trace.NewRecorder(10)
	workers := []sched.WorkerRecorder{r.Worker(0), r.Worker(1)}
	for _, e := range []sched.Event{
		{At: 10, Worker: 0, Kind: sched.KindSpinEnded}, // its beginning is not kept
		{At: 20, Worker: 0, Kind: sched.KindSpinBegan},
		{At: 25, Worker: 1, Kind: sched.KindWokenAsleep, By: 0},
		{At: 30, Worker: 0, Kind: sched.KindWokenSpinning, By: -1},
		{At: 40, Worker: 0, Kind: sched.KindSpinEnded},
		{At: 50, Worker: 1, Kind: sched.KindSpinBegan}, // it lasts
		{At: 60, Worker: 1, Kind: sched.KindStole, Count: 3, Text: "worker 0"},
		{At: 70, Worker: 0, Kind: sched.KindCompleted, Count: 2},
	} {
		e.At += time.Hour
		workers[e.Worker].Record(e)
	}
	var text bytes.Buffer
	require.NoError(t, r.WriteTrace(&text))
	events, names := parseAll(t, text.Bytes())
	const spins = 1 << 16
	require.Equal(t, map[track]string{
		{1, 1}: "worker 0", {1, spins + 1}: "worker 0 spins", {1, 2}: "worker 1", {1, spins + 2}: "worker 1 spins",
	}, names)
	list := func(worker int) (drawn []string) {
		for _, e := range events[track{1, worker + 1}] {
			took := int64(-1)
			if e.Dur != nil {
				took = nanoseconds(*e.Dur)
			}
			drawn = append(drawn, fmt.Sprintln(e.Ph, e.Name, took, e.Args["it was"], e.Args["by"]))
		}
		return drawn
	}
	require.Equal(
		t, []string{
			"i wakes worker 1 -1 asleep \n", "i woken -1 spinning no worker\n", "i 2 completions -1  \n",
		}, list(0),
	)
	require.Equal(t, []string{"i woken -1 asleep worker 0\n", "i steals 3 from worker 0 -1  \n"}, list(1))
	require.Equal(t, []string{"X spin 20  \n"}, list(spins))
	require.Equal(t, []string{"X spin 0  \n"}, list(spins+1))
	require.Len(t, r.Events(), 8)
}
