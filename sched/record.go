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
}

// NewRecorder returns a recorder that keeps the latest n transitions of each worker;
// if n is not positive it only counts.
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
	for _, ring := range r.all() {
		ring.mu.Lock()
		for from, row := range ring.counts {
			for to, n := range row {
				sum[from][to] += n
			}
		}
		ring.mu.Unlock()
	}
	return sum
}

// Events returns what is kept, the earliest first.
func (r *Recorder) Events() []Event {
	var events []Event
	for _, ring := range r.all() {
		ring.mu.Lock()
		events = append(events, ring.events[ring.next:]...)
		events = append(events, ring.events[:ring.next]...)
		ring.mu.Unlock()
	}
	slices.SortStableFunc(events, func(a, b Event) int { return int(a.At - b.At) })
	return events
}

func (r *Recorder) all() []*ring {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.rings)
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

func (r *ring) add(fiber int, from, to State, why Why) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts[from][to]++
	if r.recorder.capacity == 0 {
		return
	}
	e := Event{At: time.Duration(now() - r.recorder.began), Worker: r.worker, Fiber: fiber, From: from, To: to, Why: why}
	if len(r.events) < r.recorder.capacity {
		r.events = append(r.events, e)
		return
	}
	r.events[r.next] = e
	r.next = (r.next + 1) % len(r.events)
}
