package sched

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// The processes of a trace. Each has one thread, which viewers show as a track, for each
// worker and each fiber.
const (
	traceWorkers = 1
	traceFibers  = 2
)

// traceEvent is one event of the Trace Event format.
type traceEvent struct {
	Name  string         `json:"name"`
	Phase string         `json:"ph"`
	Class string         `json:"cat,omitempty"`
	Start microseconds   `json:"ts"`
	Took  *microseconds  `json:"dur,omitempty"`
	PID   int            `json:"pid"`
	TID   int            `json:"tid"`
	Args  map[string]any `json:"args,omitempty"`
}

// microseconds is a time that is written as microseconds, to the nanosecond.
type microseconds time.Duration

// MarshalJSON implements json.Marshaler.
func (m microseconds) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, "%d.%03d", m/1000, m%1000), nil
}

// fiberID names a fiber within a recorder.
type fiberID struct{ worker, fiber int }

// stay is the time that a fiber spends in one state.
type stay struct {
	state  State
	since  time.Duration
	why    Why
	thread int  // of the process traceFibers
	begun  bool // its beginning is recorded
}

// WriteTrace writes what is kept in the Trace Event format, as a JSON object, which
// Perfetto and chrome://tracing open. Process 1 has a track for each worker with
// what its fibers did on it: one slice for each time that a fiber was Running.
// Process 2 has a track for each fiber with all its states. A slice tells why it began
// and why it ended. Stays whose beginning is not kept are left out; those that last
// end with the latest event.
//
// It returns the error of w. It may be called while the scheduler runs, and then
// writes what was there at its beginning.
func (r *Recorder) WriteTrace(w io.Writer) error {
	t := &traceWriter{to: bufio.NewWriter(w), stays: make(map[fiberID]*stay), workers: make(map[int]bool)}
	t.text(`{"displayTimeUnit":"ns","traceEvents":[` + "\n")
	t.name("process_name", traceWorkers, 0, "workers")
	t.name("process_name", traceFibers, 0, "fibers")
	events := r.Events()
	for _, e := range events {
		t.transition(e)
	}
	if len(events) > 0 {
		t.end(events[len(events)-1].At)
	}
	t.text("\n]}\n")
	if t.err == nil {
		t.err = t.to.Flush()
	}
	if t.err != nil {
		return fmt.Errorf("sched: write a trace: %w", t.err)
	}
	return nil
}

// traceWriter turns transitions into stays.
type traceWriter struct {
	to      *bufio.Writer
	err     error // the first one
	any     bool  // an event has been written
	workers map[int]bool
	stays   map[fiberID]*stay
	order   []fiberID // of stays: the earliest seen first
}

func (t *traceWriter) transition(e Event) {
	id := fiberID{e.Worker, e.Fiber}
	s := t.stays[id]
	if s == nil {
		s = &stay{thread: len(t.stays) + 1}
		t.stays[id] = s
		t.order = append(t.order, id)
		if !t.workers[e.Worker] {
			t.workers[e.Worker] = true
			t.name("thread_name", traceWorkers, e.Worker, fmt.Sprintf("worker %d", e.Worker))
		}
		t.name("thread_name", traceFibers, s.thread, fmt.Sprintf("worker %d fiber %d", e.Worker, e.Fiber))
	}
	t.stay(id, s, e.At, e.Why.String())
	*s = stay{state: e.To, since: e.At, why: e.Why, thread: s.thread, begun: true}
}

// end writes the stays that last.
func (t *traceWriter) end(at time.Duration) {
	for _, id := range t.order {
		t.stay(id, t.stays[id], at, "")
	}
}

// stay writes one stay, which ends at some time for a cause.
func (t *traceWriter) stay(id fiberID, s *stay, end time.Duration, cause string) {
	if !s.begun {
		return
	}
	args := map[string]any{"began": s.why.String()}
	if cause != "" {
		args["ended"] = cause
	}
	took := microseconds(end - s.since)
	e := traceEvent{Name: s.state.String(), Phase: "X", Class: "state", Start: microseconds(s.since), Took: &took,
		PID: traceFibers, TID: s.thread, Args: args}
	t.event(e)
	if s.state == Running {
		e.Name, e.Class, e.PID, e.TID = fmt.Sprintf("fiber %d", id.fiber), "run", traceWorkers, id.worker
		t.event(e)
	}
}

// name writes an event that names a process or a thread.
func (t *traceWriter) name(what string, pid, tid int, name string) {
	t.event(traceEvent{Name: what, Phase: "M", PID: pid, TID: tid, Args: map[string]any{"name": name}})
}

func (t *traceWriter) event(e traceEvent) {
	line, err := json.Marshal(e)
	if err != nil && t.err == nil {
		t.err = err
	}
	if t.any {
		t.text(",\n")
	}
	t.any = true
	t.text(string(line))
}

func (t *traceWriter) text(s string) {
	if t.err == nil {
		_, t.err = t.to.WriteString(s)
	}
}
