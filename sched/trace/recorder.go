package trace

import (
	"slices"
	"sync"
	"time"

	"fiberlab/internal/clock"
	"fiberlab/sched"
)

// states is how many states a fiber can be in.
const states = int(sched.Running) + 1

// Recorder keeps the events of a scheduler. It counts all transitions of fibers, and keeps the latest events of each
// worker one by one. It also keeps how long tasks ran and waited, by their names. Its methods may be called at any
// time, from any goroutine.
type Recorder struct {
	capacity int
	began    time.Duration // since the program did, as in a sched.Event

	mu      sync.Mutex
	buffers []*buffer
}

// NewRecorder returns a recorder that keeps the latest n events of each worker and of the fibers that it has made.
// Goroutines that are bound one after the other count as one worker. If n is not positive it only counts.
func NewRecorder(n int) *Recorder {
	return &Recorder{capacity: max(n, 0), began: time.Duration(clock.Now())}
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
	r.each(func(part *buffer) {
		for from, row := range part.counts {
			for to, n := range row {
				sum[from][to] += n
			}
		}
	})
	return sum
}

// Events returns the events of these kinds that are kept, or of all kinds if none is given, the earliest first. Their
// At is the time since the recorder was made.
func (r *Recorder) Events(kinds ...sched.Kind) []sched.Event {
	var events []sched.Event
	r.each(func(part *buffer) { events = part.appendTo(events) })
	if len(kinds) > 0 {
		events = slices.DeleteFunc(events, func(e sched.Event) bool { return !slices.Contains(kinds, e.Kind) })
	}
	slices.SortStableFunc(events, func(a, b sched.Event) int { return int(a.At - b.At) })
	return events
}

// each calls f for each part, and with its lock held.
func (r *Recorder) each(f func(part *buffer)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, part := range r.buffers {
		part.Lock()
		f(part)
		part.Unlock()
	}
}

// Worker implements [sched.Recorder]. On a nil recorder it returns nil, so nothing is recorded.
func (r *Recorder) Worker(int) sched.WorkerRecorder {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, part := range r.buffers {
		if part.free.CompareAndSwap(true, false) {
			return part
		}
	}
	part := &buffer{recorder: r, stretches: make(map[int]*stretch), times: make(map[string]*TaskTime)}
	r.buffers = append(r.buffers, part)
	return part
}
