package sched

import (
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"fiberlab/internal/clock"
)

// Event is one transition of one fiber.
type Event struct {
	At     time.Duration // since the recorder was made
	Worker int           // the worker's number: multi-threaded ones from 0, bound ones after them
	Maker  int           // the number of the worker that has made the fiber
	Fiber  int           // the fiber's number among those of its maker; 0 is the fiber that its thread began with
	From   State
	To     State
	Why    Why
	Task   string   // the name of the task that the fiber runs, if it has one
	For    string   // to Yielded or Waiting: the call that waits, as "fibersync.(*Mutex).Lock", and of what if that is known
	By     Notifier // the notifier, if Why is WhyNotify
}

// Notifier is the fiber that has woken another one.
type Notifier struct {
	Worker int // its maker; less than 0: it was no fiber of the scheduler
	Fiber  int
}

// Recorder keeps the transitions of a scheduler's fibers: all of them as counts,
// and the latest of each worker one by one; and how long tasks ran and waited, by their names. Its methods may be called at any time,
// from any goroutine.
type Recorder struct {
	capacity int
	began    clock.Instant

	mu    sync.Mutex
	rings []*ring
	past  ring // of the goroutines that have unbound
}

// NewRecorder returns a recorder that keeps the latest n transitions of each worker, and
// n in all of the goroutines that have unbound; if n is not positive it only counts.
func NewRecorder(n int) *Recorder {
	return &Recorder{capacity: max(n, 0), began: clock.Now(), past: ring{times: make(map[string]*TaskTime)}}
}

// Transitions counts transitions by the states from and to which they went.
type Transitions [states][states]uint64

// Of is the number of transitions from one state to another.
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
		events = part.events.appendTo(events)
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
// worker writes, and callers of the recorder read.
type ring struct {
	recorder *Recorder
	worker   int

	mu        sync.Mutex
	counts    Transitions
	events    latest[Event]
	marks     latest[Mark]
	stretches map[int]*stretch     // by fiber
	times     map[string]*TaskTime // by name
}

// latest are the latest of some things, the earliest at next once there are as many as there may be.
type latest[T any] struct {
	kept []T
	next int
}

// keep puts v in the place of the earliest if there are as many as capacity, which must not be 0.
func (l *latest[T]) keep(v T, capacity int) {
	if len(l.kept) < capacity {
		l.kept = append(l.kept, v)
		return
	}
	l.kept[l.next] = v
	l.next = (l.next + 1) % len(l.kept)
}

// appendTo appends them to list, the earliest first.
func (l *latest[T]) appendTo(list []T) []T {
	return append(append(list, l.kept[l.next:]...), l.kept[:l.next]...)
}

// forWorker makes the worker's part. A nil recorder has none.
func (r *Recorder) forWorker(worker int) *ring {
	if r == nil {
		return nil
	}
	part := &ring{recorder: r, worker: worker, stretches: make(map[int]*stretch), times: make(map[string]*TaskTime)}
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

// change swaps the word of f and records the transition, under the part's lock: so the transitions of a fiber, all of which its maker's
// part keeps, are recorded in the order in which they happened. It returns false if the word is no longer old.
func (r *ring) change(f *Fiber, old, next word, why Why) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !f.mark(old, next) {
		return false
	}
	from, to := old.state(), next.state()
	r.counts[from][to]++
	c, at := r.stretch(f.id), clock.Now()
	r.charge(c, from, at)
	if why == WhyEnd {
		delete(r.stretches, f.id)
	}
	if r.recorder.capacity == 0 {
		return true
	}
	e := Event{At: r.since(at), Worker: f.worker.Load().id, Maker: r.worker, Fiber: f.id, From: from, To: to, Why: why, Task: c.task, By: Notifier{-1, 0}}
	if why == WhyNotify {
		if by := Current(); by != nil && by.maker.scheduler == f.maker.scheduler {
			e.By = Notifier{by.maker.id, by.id}
		}
	}
	if to == Yielded || to == Waiting {
		if e.For = waitingCall(); f.awaits != nil {
			what, _ := f.awaits.Awaited()
			e.For += " of " + what
		}
	}
	r.events.keep(e, r.recorder.capacity)
	return true
}

// since is the time from the recorder's beginning to at.
func (r *ring) since(at clock.Instant) time.Duration { return time.Duration(at - r.recorder.began) }

// waitingCall names the function of this package or of the primitives that the calling task has called,
// and in which it waits.
func waitingCall() string {
	var pcs [32]uintptr
	_, call := frames(pcs[:runtime.Callers(2, pcs[:])])
	call, _, _ = strings.Cut(strings.ReplaceAll(call, "[...]", ""), ".func") // the body of an iterator
	return call
}
