package sched_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/sched"
)

// slice is an event of a trace, with times in nanoseconds.
type slice struct {
	Name string
	Ph   string
	Ts   float64
	Dur  *float64
	PID  *int
	TID  *int
	Args map[string]string
}

func nanoseconds(us float64) int64 { return int64(math.Round(us * 1000)) }

func (s slice) start() int64 { return nanoseconds(s.Ts) }
func (s slice) end() int64   { return nanoseconds(s.Ts) + nanoseconds(*s.Dur) }

// track is one line of a viewer.
type track struct{ pid, tid int }

// parse reads a trace back and returns the slices of each track, and the names of the tracks.
func parse(t *testing.T, trace []byte) (map[track][]slice, map[track]string) {
	t.Helper()
	var document struct{ TraceEvents []slice }
	require.NoError(t, json.Unmarshal(trace, &document), "%s", trace)
	slices, names := map[track][]slice{}, map[track]string{}
	processes := map[int]string{}
	for _, e := range document.TraceEvents {
		require.NotNil(t, e.PID)
		require.NotNil(t, e.TID)
		at := track{*e.PID, *e.TID}
		switch {
		case e.Ph == "M" && e.Name == "process_name":
			processes[at.pid] = e.Args["name"]
		case e.Ph == "M":
			require.Equal(t, "thread_name", e.Name)
			require.NotContains(t, names, at, "named twice")
			names[at] = e.Args["name"]
		default:
			require.Equal(t, "X", e.Ph)
			require.NotNil(t, e.Dur)
			require.GreaterOrEqual(t, *e.Dur, 0.0)
			require.Contains(t, names, at, "a slice on a track without a name")
			slices[at] = append(slices[at], e)
		}
	}
	require.Equal(t, map[int]string{1: "workers", 2: "fibers"}, processes)
	return slices, names
}

// recorded is the trace of tasks that wait for one another, sleep and yield.
func recorded(t *testing.T, b fiber.Backend, r *sched.Recorder) []byte {
	t.Helper()
	s, err := sched.New(sched.Config{Workers: 2, Backend: b, Recorder: r})
	require.NoError(t, err)
	var mu sync.Mutex
	var waiting []*sched.Fiber
	opened := false
	const tasks = 20
	for range tasks {
		require.NoError(t, s.Enqueue(sched.Task{Func: func() {
			sched.Yield()
			sched.Sleep(time.Millisecond)
			mu.Lock()
			defer mu.Unlock()
			if len(waiting) == tasks-1 {
				opened = true
				for _, f := range waiting {
					f.Notify()
				}
				return
			}
			f := sched.Current()
			waiting = append(waiting, f)
			f.Wait(&mu, func() bool { return opened })
		}}))
	}
	require.NoError(t, s.Close())
	require.NoError(t, fiber.Drain())
	var trace bytes.Buffer
	require.NoError(t, r.WriteTrace(&trace))
	return trace.Bytes()
}

func TestWriteTrace(t *testing.T) {
	for _, b := range fiber.Backends() {
		t.Run(b.String(), func(t *testing.T) {
			r := sched.NewRecorder(1 << 16)
			slices, names := parse(t, recorded(t, b, r))
			transitions := r.Transitions()
			runs, stays := uint64(0), map[string]uint64{}
			for at, list := range slices {
				for i, s := range list {
					switch at.pid {
					case 1:
						require.Equal(t, fmt.Sprintf("worker %d", at.tid), names[at])
						runs++
						if i > 0 {
							require.GreaterOrEqual(t, s.start(), list[i-1].end(), "two fibers ran at once on %s", names[at])
						}
					case 2:
						stays[s.Name]++
						if i > 0 {
							require.Equal(t, list[i-1].end(), s.start(), "a gap on the track of %s", names[at])
							require.Equal(t, list[i-1].Args["ended"], s.Args["began"])
							require.NotEqual(t, list[i-1].Name, s.Name)
						}
					}
				}
			}
			for to := sched.Idle; to <= sched.Running; to++ {
				into := uint64(0)
				for from := sched.Idle; from <= sched.Running; from++ {
					into += transitions.Of(from, to)
				}
				require.Positive(t, into, to)
				require.Equal(t, into, stays[to.String()], to)
			}
			require.Equal(t, stays["Running"], runs)
		})
	}
}

// Once the rings are full, the trace holds the latest stays, and none whose beginning was overwritten.
func TestWriteTraceOfAFullRing(t *testing.T) {
	const capacity = 16
	r := sched.NewRecorder(capacity)
	slices, _ := parse(t, recorded(t, fiber.Goroutine, r))
	transitions := r.Transitions()
	require.Greater(t, transitions.Total(), uint64(2*capacity))
	stays := 0
	for at, list := range slices {
		if at.pid == 2 {
			stays += len(list)
		}
	}
	require.Len(t, r.Events(), stays)
}

func TestWriteTraceOfNothing(t *testing.T) {
	var trace bytes.Buffer
	require.NoError(t, sched.NewRecorder(0).WriteTrace(&trace))
	slices, names := parse(t, trace.Bytes())
	require.Empty(t, slices)
	require.Empty(t, names)
}

var errFull = errors.New("the disk is full")

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

func TestWriteTraceFails(t *testing.T) {
	require.ErrorIs(t, sched.NewRecorder(0).WriteTrace(fullDisk{}), errFull)
}
