package trace

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fiberlab/internal/clock"
	"fiberlab/sched"
	"fiberlab/sched/fibersync"
)

// transit records a transition of a fiber of that number.
func transit(part sched.WorkerRecorder, number int, from, to sched.State, why sched.Why) {
	part.Lock()
	defer part.Unlock()
	part.Record(sched.Event{Fiber: number, At: time.Duration(clock.Now()), From: from, To: to, Why: why})
}

// The buffer keeps the latest, in order; the counts keep all.
func TestRecorderRing(t *testing.T) {
	for _, written := range []int{0, 3, 4, 5, 8, 11} {
		r := NewRecorder(4)
		part := r.Worker(2)
		for i := range written {
			transit(part, i, sched.Idle, sched.Running, sched.WhyCarryOn)
		}
		var fibers []int
		for _, e := range r.Events() {
			e.At = 0
			want := sched.Event{Fiber: e.Fiber, From: sched.Idle, To: sched.Running, Why: sched.WhyCarryOn}
			require.Equal(t, want, e)
			fibers = append(fibers, e.Fiber)
		}
		var want []int
		for i := max(0, written-4); i < written; i++ {
			want = append(want, i)
		}
		require.Equal(t, want, fibers, "%d written", written)
		counts := r.Transitions()
		require.Equal(t, uint64(written), counts.Of(sched.Idle, sched.Running))
		require.Equal(t, uint64(written), counts.Total())
	}
}

func TestRecorderMergesWorkersByTime(t *testing.T) {
	r := NewRecorder(100)
	parts := []sched.WorkerRecorder{r.Worker(0), r.Worker(1)}
	for i := range 60 {
		transit(parts[i*7/3%2], i, sched.Running, sched.Queued, sched.WhyYield)
	}
	events := r.Events()
	require.Len(t, events, 60)
	for i, e := range events {
		require.GreaterOrEqual(t, e.At, events[max(0, i-1)].At)
	}
}

func TestRecorderThatOnlyCounts(t *testing.T) {
	r := NewRecorder(-1)
	transit(r.Worker(0), 1, sched.Running, sched.Waiting, sched.WhyWait)
	require.Empty(t, r.Events())
	counts := r.Transitions()
	require.Equal(t, uint64(1), counts.Of(sched.Running, sched.Waiting))
	require.Nil(t, (*Recorder)(nil).Worker(0))
}

// Goroutines that come and go leave their counts, and no more than one buffer.
func TestRecorderForgetsTheRingsOfGoroutinesThatUnbind(t *testing.T) {
	const rounds, capacity = 50, 4
	r := NewRecorder(capacity)
	s, err := sched.New(sched.Config{Workers: 1, Recorder: r})
	require.NoError(t, err)
	var yields uint64
	for range rounds {
		require.NoError(t, s.Bind())
		require.NoError(t, s.Enqueue(sched.Task{Func: func() {}, Flags: sched.SameThread}))
		sched.Yield()
		yields++
		require.NoError(t, sched.Unbind())
	}
	require.Len(t, r.buffers, 2, "the worker's, and that of one goroutine after the other")
	require.Len(t, r.buffers[1].events, capacity)
	counts := r.Transitions()
	require.Equal(t, yields, counts.Of(sched.Running, sched.Queued), "what they did is counted")
	latest := 0
	for _, e := range r.Events() {
		latest = max(latest, e.Worker)
	}
	require.Equal(t, rounds, latest, "the last to unbind is kept")
	require.NoError(t, s.Close())
	require.NotEmpty(t, r.Events())
}

// An arrow may begin on the track of a worker of which nothing else is kept: that has a name all the same,
// and has it first.
func TestTraceNamesTheTrackOfANotifier(t *testing.T) {
	var events []traceEvent
	w := &traceWriter{stays: make(map[fiberID]*stay), workers: make(map[int]bool)}
	w.event = func(e traceEvent) { events = append(events, e) }
	w.transition(
		sched.Event{At: 1, From: sched.Yielded, To: sched.Queued, Why: sched.WhyNotify, By: 7, ByFiber: 3},
	)
	w.transition(sched.Event{At: 2, From: sched.Queued, To: sched.Running, Why: sched.WhyResume})
	name := slices.IndexFunc(events, func(e traceEvent) bool { return e.Phase == "M" && e.Args["name"] == "worker 7" })
	arrow := slices.IndexFunc(events, func(e traceEvent) bool { return e.Phase == "s" })
	require.GreaterOrEqual(t, name, 0, "%v", events)
	require.Greater(t, arrow, name, "%v", events)
}

// A task is drawn in the stays that are kept, though its beginning is not.
func TestTraceOfATaskThatBeganEarlier(t *testing.T) {
	r := NewRecorder(3)
	part := r.Worker(0)
	for i, e := range []sched.Event{
		{Kind: sched.KindTaskBegan},
		{From: sched.Running, To: sched.Queued, Why: sched.WhyYield},
		{From: sched.Queued, To: sched.Running, Why: sched.WhyResume},
		{Kind: sched.KindTaskEnded},
	} {
		e.At, e.Task, e.By = r.began+time.Duration(i), "long", -1
		part.Record(e)
	}
	var text bytes.Buffer
	require.NoError(t, r.WriteTrace(&text))
	require.Contains(t, text.String(), `"name":"long","ph":"X","cat":"task","ts":0.002,"dur":0.001,`)
}

// A fiber that another worker resumes keeps its name, runs on that worker's track, and says where it came from.
func TestMigration(t *testing.T) {
	r := NewRecorder(10)
	part := r.Worker(0).(*buffer)
	r.Worker(1)
	for i, step := range []struct {
		worker   int
		from, to sched.State
		why      sched.Why
	}{
		{0, sched.Idle, sched.Running, sched.WhyCarryOn},
		{0, sched.Running, sched.Queued, sched.WhyYield},
		{0, sched.Queued, sched.Running, sched.WhyResume},
		{0, sched.Running, sched.Yielded, sched.WhyWait},
		{0, sched.Yielded, sched.Queued, sched.WhyNotify},
		{1, sched.Queued, sched.Running, sched.WhyResume},
		{1, sched.Running, sched.Idle, sched.WhyGoIdle},
	} {
		part.Record(sched.Event{
			At: r.began + time.Duration(i+1), Worker: step.worker, Fiber: 3, From: step.from, To: step.to, Why: step.why,
			By: -1,
		})
	}
	var text bytes.Buffer
	require.NoError(t, r.WriteTrace(&text))
	for _, want := range []string{
		`"name":"fiber 3","ph":"X","cat":"run","ts":0.001,"dur":0.001,"pid":1,"tid":1`,
		`"name":"fiber 3 of worker 0 ` +
			`migrates","ph":"i","cat":"migration","ts":0.006,"pid":1,"tid":2,"s":"t","args":{"from":"worker 0"}`,
		`"name":"fiber 3 of worker 0","ph":"X","cat":"run","ts":0.006,"dur":0.001,"pid":1,"tid":2`,
		`"args":{"began":"resume","came from":"worker 0","ended":"go idle","on":"worker 1"}`,
	} {
		require.Contains(t, text.String(), want)
	}
	require.Equal(
		t, 1, strings.Count(text.String(), `"thread_name","ph":"M","ts":0.000,"pid":2`), "one track for the fiber",
	)
}

// The call that waits is the task's, whether it waits without a limit, until a deadline, or for a context.
func TestEventsNameTheCallThatWaits(t *testing.T) {
	r := NewRecorder(100)
	require.NoError(t, sched.Run(sched.Config{Workers: 1, Recorder: r}, func() {
		// The caller's own worker begins the tasks that end the waits once the waits have begun.
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		require.NoError(t, sched.Schedule(cancel, sched.SameThread))
		require.Error(t, fibersync.NewLatch(1).WaitContext(ctx))
		var opened fibersync.Event
		require.NoError(t, sched.Schedule(opened.Signal, sched.SameThread))
		require.True(t, opened.WaitUntil(time.Now().Add(time.Hour)))
	}))
	var calls []string
	for _, e := range r.Events(sched.KindTransition) {
		if e.To == sched.Waiting {
			calls = append(calls, e.Text)
		}
	}
	require.Equal(t, []string{"fibersync.(*Latch).WaitContext", "fibersync.(*Event).WaitUntil"}, slices.Compact(calls))
}
