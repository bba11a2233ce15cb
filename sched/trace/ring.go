package trace

import (
	"sync"
	"time"

	"fiberlab/sched"
)

// ring is one worker's part of a recorder, and implements [sched.WorkerRecorder]. The lock is hardly ever contended: the
// worker holds it to write, and callers of the recorder to read.
type ring struct {
	recorder *Recorder
	worker   int

	sync.Mutex
	counts     Transitions
	migrations uint64
	events     latest[Event]
	marks      latest[Mark]
	idling     latest[Idling]
	stretches  map[int]*stretch     // by fiber
	times      map[string]*TaskTime // by name
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

// Detailed implements [sched.WorkerRecorder]: only what keeps events needs more than counts.
func (r *ring) Detailed() bool { return r.recorder.capacity > 0 }

// Transition implements [sched.WorkerRecorder].
func (r *ring) Transition(m sched.Moment, t sched.Transition) {
	r.counts[t.From][t.To]++
	s := r.charge(m, t.From)
	if t.Why == sched.WhyResume && s.worker != m.Worker {
		r.migrations++
	}
	s.worker = m.Worker
	if t.Why == sched.WhyEnd {
		delete(r.stretches, m.Fiber)
	}
	if r.recorder.capacity > 0 {
		e := Event{Transition: t, At: r.since(m), Worker: m.Worker, Maker: r.worker, Fiber: m.Fiber, Task: s.task}
		r.events.keep(e, r.recorder.capacity)
	}
}

// Unbound implements [sched.WorkerRecorder].
func (r *ring) Unbound() { r.recorder.forget(r) }

// since is the time from the recorder's beginning to m.
func (r *ring) since(m sched.Moment) time.Duration { return m.At - r.recorder.began }
