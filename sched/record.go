package sched

import (
	"slices"
	"sync"
	"time"
)

// Event is one transition of one fiber.
type Event struct {
	At     time.Duration // since the recorder was made
	Worker int           // the worker's number: multi-threaded ones from 0, bound ones after them
	Fiber  int           // the fiber's number on its worker; 0 is the one that its thread began with
	From   State
	To     State
	Why    Why
}

// Recorder keeps the transitions of a scheduler's fibers: all of them as counts,
// and the latest of each worker one by one. Its methods may be called at any time,
// from any goroutine.
type Recorder struct {
	capacity int
	began    instant

	mu    sync.Mutex
	rings []*ring
	past  ring // of the goroutines that have unbound
}

// NewRecorder returns a recorder that keeps the latest n transitions of each worker, and
// n in all of the goroutines that have unbound; if n is not positive it only counts.
func NewRecorder(n int) *Recorder { return &Recorder{capacity: max(n, 0), began: now()} }

// Transitions counts transitions by the states from and to which they went.
type Transitions [states][states]uint64

// Of is the count of those from one state to another.
func (t *Transitions) Of(from, to State) uint64 { return t[from][to] }

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
	r.each(func(part *ring) { sum.add(&part.counts) })
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
	r.each(func(part *ring) {
		events = append(events, part.events[part.next:]...)
		events = append(events, part.events[:part.next]...)
	})
	slices.SortStableFunc(events, func(a, b Event) int { return int(a.At - b.At) })
	return events
}

// each calls f for each part, and with its lock held.
func (r *Recorder) each(f func(part *ring)) {
	visit := func(part *ring) {
		part.mu.Lock()
		defer part.mu.Unlock()
		f(part)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, part := range r.rings {
		visit(part)
	}
	visit(&r.past)
}

// ring is one worker's part of a recorder. The lock is hardly ever contended: the
// worker writes, and who reads the recorder reads.
type ring struct {
	recorder *Recorder
	worker   int

	mu     sync.Mutex
	counts Transitions
	events []Event
	next   int // where the next event goes once the ring is full
}

// forWorker makes the worker's part. A nil recorder has none.
func (r *Recorder) forWorker(worker int) *ring {
	if r == nil {
		return nil
	}
	part := &ring{recorder: r, worker: worker}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rings = append(r.rings, part)
	return part
}

// forget moves what gone holds, the part of a worker that has ended, to the past. It does
// nothing if r or gone is nil. It holds both locks of the recorder's meanwhile.
func (r *Recorder) forget(gone *ring) {
	if r == nil || gone == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	gone.mu.Lock()
	defer gone.mu.Unlock()
	r.past.mu.Lock()
	defer r.past.mu.Unlock()
	r.rings = slices.DeleteFunc(r.rings, func(part *ring) bool { return part == gone })
	r.past.counts.add(&gone.counts)
	for i := range gone.events {
		r.past.keep(gone.events[(gone.next+i)%len(gone.events)], r.capacity)
	}
}

func (r *ring) add(fiber int, from, to State, why Why) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts[from][to]++
	if r.recorder.capacity == 0 {
		return
	}
	r.keep(Event{At: time.Duration(now() - r.recorder.began), Worker: r.worker, Fiber: fiber, From: from, To: to, Why: why}, r.recorder.capacity)
}

// keep puts e in the place of the oldest if there are as many as capacity, which must not
// be 0. The lock must be held.
func (r *ring) keep(e Event, capacity int) {
	if len(r.events) < capacity {
		r.events = append(r.events, e)
		return
	}
	r.events[r.next] = e
	r.next = (r.next + 1) % len(r.events)
}
