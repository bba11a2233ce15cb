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
				woken, spins := map[trace.IdleWhat]uint64{}, map[int]bool{}
				outside, inside := 0, 0
				for _, i := range r.Idling() {
					switch i.What {
					case trace.SpinBegan, trace.SpinEnded:
						require.Equal(t, i.What == trace.SpinEnded, spins[i.Worker], "worker %d spins", i.Worker)
						spins[i.Worker] = i.What == trace.SpinBegan
						require.Less(t, i.By, 0)
						continue
					case trace.Stole, trace.Completed:
						require.Positive(t, i.Count)
						continue
					}
					woken[i.What]++
					if i.By < 0 {
						outside++
					} else {
						inside++
						require.NotEqual(t, i.Worker, i.By, "a worker has woken itself")
					}
				}
				for worker, is := range spins {
					require.False(t, is, "worker %d spins at the end", worker)
				}
				require.Equal(
					t, awake(), woken[trace.WokenSpinning]+woken[trace.WokenAsleep], "wake-ups that are counted",
				)
				require.Positive(t, outside, "wake-ups from outside")
				require.Positive(t, inside, "wake-ups by tasks")
				require.Equal(t, spinners > 0, len(spins) > 0, "workers spin only where they may")
				if spinners < 0 {
					require.Zero(t, woken[trace.WokenSpinning])
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
	before := time.Hour
	workers := []sched.WorkerRecorder{r.Worker(0), r.Worker(1)}
	workers[0].Spin(before+10, false) // its beginning is not kept
	workers[0].Spin(before+20, true)
	workers[1].Woken(before+25, 0, true)
	workers[0].Woken(before+30, -1, false)
	workers[0].Spin(before+40, false)
	workers[1].Spin(before+50, true) // it lasts
	workers[1].Took(before+60, 3, "worker 0")
	workers[0].Took(before+70, 2, "")
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
	require.Len(t, r.Idling(), 8)
}
