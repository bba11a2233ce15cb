package trace_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/sched/trace"
)

// slice is an event of a trace, with times in nanoseconds.
type slice struct {
	Name string
	Ph   string
	Cat  string
	ID   int
	Bp   string
	S    string
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

// isState reports whether the slice is one of a fiber's states, on either track.
func (s slice) isState() bool { return s.Cat == "state" || s.Cat == "run" }

// parse reads a trace back and returns the slices of the states of each track, and the names of the tracks.
func parse(t *testing.T, text []byte) (map[track][]slice, map[track]string) {
	t.Helper()
	all, names := parseAll(t, text)
	for at := range all {
		all[at] = slices.DeleteFunc(all[at], func(s slice) bool { return !s.isState() })
	}
	return all, names
}

// parseAll reads a trace back and returns all events of each track, and the names of the tracks.
func parseAll(t *testing.T, text []byte) (map[track][]slice, map[track]string) {
	t.Helper()
	var document struct{ TraceEvents []slice }
	require.NoError(t, json.Unmarshal(text, &document), "%s", text)
	events, names := map[track][]slice{}, map[track]string{}
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
			require.Contains(t, []string{"X", "i", "s", "f"}, e.Ph)
			if e.Ph == "X" {
				require.NotNil(t, e.Dur)
				require.GreaterOrEqual(t, *e.Dur, 0.0)
			}
			require.Contains(t, names, at, "an event on a track without a name")
			events[at] = append(events[at], e)
		}
	}
	require.Equal(t, map[int]string{1: "workers", 2: "fibers"}, processes)
	return events, names
}

// recorded is the trace of tasks that wait for one another, sleep and yield.
func recorded(t *testing.T, b fiber.Backend, p sched.Policy, r *trace.Recorder) []byte {
	t.Helper()
	s, err := sched.New(sched.Config{Workers: 2, Backend: b, Policy: p, Recorder: r})
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
	var text bytes.Buffer
	require.NoError(t, r.WriteTrace(&text))
	return text.Bytes()
}

func eachBackendAndPolicy(t *testing.T, test func(t *testing.T, b fiber.Backend, p sched.Policy)) {
	for _, b := range fiber.Backends() {
		for _, p := range sched.Policies() {
			t.Run(fmt.Sprintf("%v/%v", b, p), func(t *testing.T) { test(t, b, p) })
		}
	}
}

func TestWriteTrace(t *testing.T) {
	eachBackendAndPolicy(t, func(t *testing.T, b fiber.Backend, p sched.Policy) {
		r := trace.NewRecorder(1 << 16)
		text := recorded(t, b, p, r)
		slices, names := parse(t, text)
		transitions := r.Transitions()
		runs, stays := uint64(0), map[string]uint64{}
		for at, list := range slices {
			for i, s := range list {
				switch at.pid {
				case 1:
					require.Equal(t, fmt.Sprintf("worker %d", at.tid-1), names[at])
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
		all, _ := parseAll(t, text)
		moved := uint64(0)
		for _, list := range all {
			for _, e := range list {
				if e.Cat == "migration" {
					moved++
				}
			}
		}
		migrations, ran := uint64(0), map[[2]int]int{} // by maker and fiber: the worker that ran it last
		for _, e := range r.Events(sched.KindTransition) {
			fiber := [2]int{e.Maker, e.Fiber}
			if last, known := ran[fiber]; known && e.Why == sched.WhyResume && e.Worker != last {
				migrations++
			}
			ran[fiber] = e.Worker
		}
		require.Equal(t, migrations, moved, "migrations that are drawn")
		if p == sched.Stealing {
			require.Zero(t, moved, "fibers stay with their workers")
		}
	})
}

// Once the buffers are full, the trace holds the latest stays, and none whose beginning was overwritten.
func TestWriteTraceOfAFullRing(t *testing.T) {
	const capacity = 16
	r := trace.NewRecorder(capacity)
	slices, _ := parse(t, recorded(t, fiber.Goroutine, sched.Stealing, r))
	transitions := r.Transitions()
	require.Greater(t, transitions.Total(), uint64(2*capacity))
	stays := 0
	for at, list := range slices {
		if at.pid == 2 {
			stays += len(list)
		}
	}
	require.Len(t, r.Events(sched.KindTransition), stays)
}

func TestWriteTraceOfNothing(t *testing.T) {
	var text bytes.Buffer
	require.NoError(t, trace.NewRecorder(0).WriteTrace(&text))
	slices, names := parse(t, text.Bytes())
	require.Empty(t, slices)
	require.Empty(t, names)
}

var errFull = errors.New("the disk is full")

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

func TestWriteTraceFails(t *testing.T) {
	require.ErrorIs(t, trace.NewRecorder(0).WriteTrace(fullDisk{}), errFull)
}

// A trace names the tasks, says what they wait by, shows their marks,
// and leads from the notifier to the notified fiber.
func TestTraceOfNamedTasks(t *testing.T) {
	for _, b := range fiber.Backends() {
		r := trace.NewRecorder(1 << 10)
		s, err := sched.New(sched.Config{Workers: 1, Backend: b, Recorder: r})
		require.NoError(t, err)
		c := fibersync.NewChannel[int](0)
		require.NoError(t, s.Enqueue(sched.Task{Name: "taker", Func: func() {
			c.Receive()
			sched.AddMark("half way")
			c.Receive()
		}}))
		require.NoError(t, s.Enqueue(sched.Task{Name: "giver", Func: func() {
			// A sleep may be over before the task could block, or soon after.
			end := time.Now().Add(time.Minute)
			for r.TaskTimes()["giver"].Blocked < time.Millisecond && time.Now().Before(end) {
				sched.Sleep(time.Millisecond)
			}
			c.Send(1)
			c.Send(2)
		}}))
		require.NoError(t, s.Close())
		sched.AddMark("from no fiber")
		var text bytes.Buffer
		require.NoError(t, r.WriteTrace(&text))
		events, _ := parseAll(t, text.Bytes())

		waits, ends := map[string]bool{}, map[int]slice{}
		marks, arrows := 0, 0
		at := func(where track, when int64, class string) (names []string) {
			for _, e := range events[where] {
				if e.Cat == class && e.start() <= when && when <= e.end() {
					names = append(names, e.Name)
				}
			}
			return names
		}
		for where, list := range events {
			for _, e := range list {
				switch {
				case e.Ph == "i":
					marks++
					require.Equal(t, "half way", e.Name)
					require.Equal(t, "taker", e.Args["task"])
					require.Contains(t, at(where, e.start(), "task"), "taker")
				case e.Ph == "s" || e.Ph == "f":
					arrows++
					require.NotEmpty(t, at(where, e.start(), "run"), "an arrow at no slice")
					if other, ok := ends[e.ID]; ok {
						from, to := other, e
						if e.Ph == "s" {
							from, to = e, other
						}
						require.Equal(t, "s", from.Ph)
						require.Equal(t, "e", to.Bp)
						require.LessOrEqual(t, from.start(), to.start())
					}
					ends[e.ID] = e
				case where.pid == 2 && (e.Name == "Yielded" || e.Name == "Waiting"):
					call, channel, _ := strings.Cut(e.Args["waits by"], " of the channel")
					waits[e.Args["task"]+" "+e.Name+" by "+call] = true
					require.Equal(t, strings.HasPrefix(call, "fibersync."), channel != "", "%v", e.Args)
				}
			}
		}
		require.Equal(t, 1, marks)
		require.Positive(t, arrows)
		require.Len(t, ends, arrows/2, "each arrow has two ends")
		require.True(t, waits["taker Yielded by fibersync.(*Channel).Receive"], "%v", waits)
		require.True(t, waits["giver Waiting by sched.Sleep"], "%v", waits)

		times := r.TaskTimes()
		require.EqualValues(t, 1, times["taker"].Tasks)
		require.EqualValues(t, 1, times["giver"].Tasks)
		require.Zero(t, times["someone"].Tasks)
		require.GreaterOrEqual(t, times["giver"].Blocked, time.Millisecond)
		require.GreaterOrEqual(t, times["taker"].Blocked, time.Millisecond/2)
		require.Positive(t, times["taker"].Running)
	}
}

// A slice of a worker's track contains the slices of the tasks that ran then, and nothing else.
func TestTraceOfTasksLiesWithinItsFiber(t *testing.T) {
	for _, p := range sched.Policies() {
		r := trace.NewRecorder(1 << 16)
		events, _ := parseAll(t, recorded(t, fiber.Backends()[0], p, r))
		tasks := 0
		for at, list := range events {
			for _, e := range list {
				if e.Cat != "task" {
					continue
				}
				tasks++
				require.Equal(t, 1, at.pid)
				require.True(t, slices.ContainsFunc(list, func(around slice) bool {
					return around.Cat == "run" && around.start() <= e.start() && e.end() <= around.end()
				}), "%v: %+v lies in no fiber's slice", p, e)
			}
		}
		require.Positive(t, tasks, p)
	}
}

// A recorder that meets ever new names keeps some, and counts the others' tasks as those without a name.
func TestNamesAreBounded(t *testing.T) {
	const tasks = 3000
	r := trace.NewRecorder(0)
	s, err := sched.New(sched.Config{Workers: 1, Recorder: r})
	require.NoError(t, err)
	for i := range tasks {
		require.NoError(t, s.Enqueue(sched.Task{Name: fmt.Sprint("task ", i), Func: func() {}}))
	}
	require.NoError(t, s.Close())
	times := r.TaskTimes()
	require.Len(t, times, 1024+1)
	require.EqualValues(t, 1, times["task 0"].Tasks)
	require.EqualValues(t, tasks-1024, times[""].Tasks)
	require.NoError(t, fiber.Drain())
}
