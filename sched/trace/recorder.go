package trace

import (
	"slices"
	"sync"
	"time"

	"fiberlab/internal/clock"
	"fiberlab/sched"
)

// Event is one transition of one fiber, and when it happened.
type Event struct {
	sched.Transition
	At     time.Duration // since the recorder was made
	Worker int           // the worker's number: multi-threaded ones from 0, bound ones after them
	Maker  int           // the number of the worker that has made the fiber
	Fiber  int           // the fiber's number among those of its maker; 0 is the fiber that its thread began with
	Task   string        // the name of the task that the fiber runs, if it has one
}

// states is how many states a fiber can be in.
const states = int(sched.Running) + 1

// Recorder keeps the transitions of a scheduler's fibers: it counts all, and keeps the latest of each worker one by
// one. It also keeps how long tasks ran and waited, by their names. Its methods may be called at any time, from any
// goroutine.
type Recorder struct {
	capacity int
	began    time.Duration // since the program did, as in a sched.Moment

	mu      sync.Mutex
	buffers []*buffer
	past    buffer // of the goroutines that have unbound
}

// NewRecorder returns a recorder that keeps the latest n transitions of each worker, and n
// of all goroutines that have unbound together. If n is not positive it only counts.
func NewRecorder(n int) *Recorder {
	return &Recorder{
		capacity: max(n, 0), began: time.Duration(clock.Now()), past: buffer{times: make(map[string]*TaskTime)},
	}
}

// Transitions counts transitions by the states from and to which they went.
type Transitions [states][states]uint64

// Of is the number of transitions from one state to another.
func (t *Transitions) Of(from, to sched.State) uint64 { return t[from][to] }

// Total is the count of all.
func (t *Transitions) Total() uint64 {
	var sum uint64
	for _, row := range t {
		for _, n := range row {
			sum += n
		}
	}
	return sum
}

// Transitions returns the counts of all workers together.
func (r *Recorder) Transitions() Transitions {
	var sum Transitions
	r.each(func(part *buffer) { sum.add(&part.counts) })
	return sum
}

func (t *Transitions) add(counts *Transitions) {
	for from, row := range counts {
		for to, n := range row {
			t[from][to] += n
		}
	}
}

// Events returns what is kept, the earliest first.
func (r *Recorder) Events() []Event {
	var events []Event
	r.each(func(part *buffer) {
		events = part.events.appendTo(events)
	})
	slices.SortStableFunc(events, func(a, b Event) int { return int(a.At - b.At) })
	return events
}

// each calls f for each part, and with its lock held.
func (r *Recorder) each(f func(part *buffer)) {
	visit := func(part *buffer) {
		part.Lock()
		defer part.Unlock()
		f(part)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, part := range r.buffers {
		visit(part)
	}
	visit(&r.past)
}

// Worker implements [sched.Recorder]. A nil recorder records nothing.
func (r *Recorder) Worker(number int) sched.WorkerRecorder {
	if r == nil {
		return nil
	}
	part := &buffer{recorder: r, worker: number, stretches: make(map[int]*stretch), times: make(map[string]*TaskTime)}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.buffers = append(r.buffers, part)
	return part
}

// forget moves what gone holds, the part of a worker that has ended, to the past.
// It takes both locks of the recorder.
func (r *Recorder) forget(gone *buffer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	gone.Lock()
	defer gone.Unlock()
	r.past.Lock()
	defer r.past.Unlock()
	r.buffers = slices.DeleteFunc(r.buffers, func(part *buffer) bool { return part == gone })
	r.past.counts.add(&gone.counts)
	for _, e := range gone.events.appendTo(nil) {
		r.past.events.keep(e, r.capacity)
	}
	for _, m := range gone.marks.appendTo(nil) {
		r.past.marks.keep(m, r.capacity)
	}
	for name, t := range gone.times {
		r.past.timesOf(name).add(*t)
	}
}
