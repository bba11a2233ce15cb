package trace

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"fiberlab/sched"
)

// The processes of a trace. Each has one thread, which viewers show as a track, for each worker and each fiber.
const (
	traceWorkers = 1
	traceFibers  = 2

	traceSpins = 1 << 16 // the thread of a worker's spins, less the worker's own
)

// traceEvent is one event of the Trace Event format. Its phase is X for a slice, i for an instant, s and f for the ends
// of an arrow, M for the name of a process or thread.
type traceEvent struct {
	Name  string            `json:"name"`
	Phase string            `json:"ph"`
	Class string            `json:"cat,omitempty"`
	Start microseconds      `json:"ts"`
	Took  *microseconds     `json:"dur,omitempty"`
	PID   int               `json:"pid"`
	TID   int               `json:"tid"`
	Arrow int               `json:"id,omitempty"` // both ends have the same
	Into  string            `json:"bp,omitempty"` // e: an arrow ends in the slice around it, not in the next one
	Scope string            `json:"s,omitempty"`  // t: an instant is its thread's
	Args  map[string]string `json:"args,omitempty"`
}

// microseconds is a time that is written as microseconds, to the nanosecond.
type microseconds time.Duration

// MarshalJSON implements json.Marshaler.
func (m microseconds) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, "%d.%03d", m/1000, m%1000), nil
}

// fiberID names a fiber within a recorder.
type fiberID struct{ maker, fiber int }

// String names the fiber.
func (id fiberID) String() string {
	if id.maker < 0 {
		return "no fiber"
	}
	return fmt.Sprintf("worker %d fiber %d", id.maker, id.fiber)
}

// stay is the time that a fiber spends in one state.
type stay struct {
	sched.Event      // by which it began
	begun       bool // Event is kept; else the stay is left out
	thread      int  // of the process traceFibers
	from        int  // the worker that ran the fiber before, if that was another one; else less than 0
	waker       int  // the worker that ran the fiber which notified this one; less than 0: none did
	inTask      bool
	tasks       []run // if it is Running
}

// run is the part of a task that lies within one stay.
type run struct {
	name         string
	since, until time.Duration // until is 0 while it lasts
}

// WriteTrace writes what is kept in the Trace Event format, as a JSON object, which Perfetto and chrome://tracing open.
// Process 1 has a track for each worker with what its fibers did on it. Each time that a fiber was Running is a slice,
// with one slice inside for each task that ran, by its name. An arrow leads from the slice in which a fiber was
// notified to the one in which it continued. An instant stands where sched.AddMark was called, where a fiber has
// migrated to, and where a worker was woken. A second track shows when a worker spun. Process 2 has a track for each
// fiber with all its states. A slice tells why it began and why it ended, and for which call a task waits. Stays whose
// beginning is not kept are left out; stays that have not ended are drawn up to the latest event of a fiber.
//
// It returns the error of w. It may be called while the scheduler runs, and then writes what was there when it began.
func (r *Recorder) WriteTrace(w io.Writer) error {
	out := bufio.NewWriter(w) // an error of w comes again from Flush
	out.WriteString(`{"displayTimeUnit":"ns","traceEvents":[` + "\n")
	lines, separator := json.NewEncoder(out), ""
	r.draw(func(e traceEvent) {
		out.WriteString(separator)
		lines.Encode(e)
		separator = ","
	})
	out.WriteString("]}\n")
	if err := out.Flush(); err != nil {
		return fmt.Errorf("trace: write: %w", err)
	}
	return nil
}

// draw turns what is kept into events, and gives each to emit. A track is named before its first event.
func (r *Recorder) draw(emit func(traceEvent)) {
	t := &traceWriter{event: emit, stays: make(map[fiberID]*stay), workers: make(map[int]bool)}
	t.name("process_name", traceWorkers, 0, "workers")
	t.name("process_name", traceFibers, 0, "fibers")
	events, last := r.Events(), time.Duration(0)
	for _, e := range events {
		switch e.Kind {
		case sched.KindTransition:
			t.transition(e)
		case sched.KindTaskBegan, sched.KindTaskEnded, sched.KindMark:
			t.mark(e)
		default:
			continue // a worker's
		}
		last = e.At
	}
	t.end(last)
	t.idling(events, last)
}

// traceWriter turns transitions into stays.
type traceWriter struct {
	event   func(traceEvent)
	workers map[int]bool // the threads of the process traceWorkers that have a name
	stays   map[fiberID]*stay
	order   []fiberID // of stays: the earliest seen first
	arrows  int
}

// of returns the present stay of a fiber.
func (t *traceWriter) of(id fiberID) *stay {
	s := t.stays[id]
	if s == nil {
		s = &stay{Event: sched.Event{Worker: id.maker}, thread: len(t.stays) + 1, from: -1, waker: -1}
		t.stays[id] = s
		t.order = append(t.order, id)
		t.worker(id.maker)
		t.name("thread_name", traceFibers, s.thread, id.String())
	}
	return s
}

// worker names the track of a worker before anything is written to it.
func (t *traceWriter) worker(id int) { t.track(workerThread(id), workerName(id)) }

func (t *traceWriter) track(thread int, name string) {
	if !t.workers[thread] {
		t.workers[thread] = true
		t.name("thread_name", traceWorkers, thread, name)
	}
}

func (t *traceWriter) transition(e sched.Event) {
	id := fiberID{e.Maker, e.Fiber}
	s := t.of(id)
	t.worker(e.Worker)
	t.stay(id, s, e.At, e.Why.String())
	before := *s
	s.Event, s.begun, s.from, s.waker, s.tasks = e, true, -1, -1, nil
	s.inTask = s.inTask || e.Task != "" // of which the beginning is not kept
	switch {
	case e.Why == sched.WhyNotify && e.By >= 0:
		s.waker = t.ranOn(fiberID{e.By, e.ByFiber})
	case e.To == sched.Running:
		if e.Why == sched.WhyResume && before.begun && before.Worker != e.Worker {
			s.from = before.Worker
			t.instant(e.Worker, id.on(e.Worker)+" migrates", "migration", e.At, map[string]string{"from": workerName(s.from)})
		}
		if before.waker >= 0 {
			t.arrow(before, e)
		}
		if s.inTask {
			s.tasks = append(s.tasks, run{name: e.Task, since: e.At})
		}
	}
}

// arrow leads from where a fiber was notified to where it goes on.
func (t *traceWriter) arrow(from stay, to sched.Event) {
	t.arrows++
	t.worker(from.waker) // of which no other event may be kept
	e := traceEvent{Name: "notify", Class: "notify", PID: traceWorkers, Arrow: t.arrows}
	e.Phase, e.TID, e.Start = "s", workerThread(from.waker), microseconds(from.At)
	t.event(e)
	e.Phase, e.TID, e.Start, e.Into = "f", workerThread(to.Worker), microseconds(to.At), "e"
	t.event(e)
}

// ranOn is the worker that runs the fiber, as far as that is known: else the worker that has made it.
func (t *traceWriter) ranOn(id fiberID) int {
	if s := t.stays[id]; s != nil {
		return s.Worker
	}
	return id.maker
}

// mark is for an event within the task of a fiber.
func (t *traceWriter) mark(e sched.Event) {
	s := t.of(fiberID{e.Maker, e.Fiber})
	switch e.Kind {
	case sched.KindTaskBegan:
		s.inTask = true
		s.tasks = append(s.tasks, run{name: e.Task, since: e.At})
	case sched.KindTaskEnded:
		s.endTask(e.At)
		s.inTask = false
	case sched.KindMark:
		t.instant(
			e.Worker, e.Text, "mark", e.At, described(map[string]string{"fiber": fmt.Sprint(e.Fiber)}, "task", e.Task),
		)
	}
}

// instant writes a moment on the track of a worker.
func (t *traceWriter) instant(worker int, name, class string, at time.Duration, args map[string]string) {
	t.worker(worker)
	t.event(traceEvent{
		Name: name, Phase: "i", Class: class, Start: microseconds(at), PID: traceWorkers, TID: workerThread(worker),
		Scope: "t", Args: args,
	})
}

func workerName(number int) string { return fmt.Sprintf("worker %d", number) }

// workerThread is the thread of a worker. None is 0: Perfetto takes that for the thread whose number is the process's.
func workerThread(number int) int { return number + 1 }

// on names the fiber on the track of a worker.
func (id fiberID) on(worker int) string {
	if id.maker == worker {
		return fmt.Sprintf("fiber %d", id.fiber)
	}
	return fmt.Sprintf("fiber %d of worker %d", id.fiber, id.maker)
}

// endTask ends the part of the task that lasts, if there is one.
func (s *stay) endTask(at time.Duration) {
	if last := len(s.tasks) - 1; s.inTask && last >= 0 {
		s.tasks[last].until = at
	}
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
	args := described(map[string]string{"began": s.Why.String()}, "ended", cause, "task", s.Task, "waits by", s.Text)
	if s.Why == sched.WhyNotify {
		args["notified by"] = fiberID{s.By, s.ByFiber}.String()
	}
	if s.To == sched.Running {
		args["on"] = workerName(s.Worker)
	}
	if s.from >= 0 {
		args["came from"] = workerName(s.from)
	}
	e := slice(s.To.String(), "state", traceFibers, s.thread, s.At, end)
	e.Args = args
	t.event(e)
	if s.To != sched.Running {
		return
	}
	e.Name, e.Class, e.PID, e.TID = id.on(s.Worker), "run", traceWorkers, workerThread(s.Worker)
	t.event(e)
	s.endTask(end)
	for _, task := range s.tasks {
		t.event(slice(cmp.Or(task.name, "task"), "task", traceWorkers, e.TID, task.since, task.until))
	}
}

// described adds pairs of a name and a text to args, but no text that is empty.
func described(args map[string]string, pairs ...string) map[string]string {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			args[pairs[i]] = pairs[i+1]
		}
	}
	return args
}

func slice(name, class string, process, thread int, since, until time.Duration) traceEvent {
	took := microseconds(until - since)
	return traceEvent{
		Name: name, Phase: "X", Class: class, Start: microseconds(since), Took: &took, PID: process, TID: thread,
	}
}

// name writes an event that names a process or a thread.
func (t *traceWriter) name(what string, pid, tid int, name string) {
	t.event(traceEvent{Name: what, Phase: "M", PID: pid, TID: tid, Args: map[string]string{"name": name}})
}
