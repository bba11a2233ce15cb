package trace

import (
	"sync"
	"time"

	"fiberlab/sched"
)

// buffer is one worker's part of a recorder, and implements [sched.WorkerRecorder]. The lock is hardly ever contended:
// the worker holds it to write, and callers of the recorder to read.
type buffer struct {
	recorder *Recorder
	worker   int

	sync.Mutex
	counts    Transitions
	events    latest[Event]
	marks     latest[Mark]
	idling    latest[Idling]
	stretches map[int]*stretch     // by fiber
	times     map[string]*TaskTime // by name
}

// latest are the latest of some things, the earliest at next once there are as many as there may be.
type latest[T any] struct {
	kept []T
	next int
}

// keep appends v, or replaces the earliest if there are as many as capacity, which must not be 0.
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
func (b *buffer) Detailed() bool { return b.recorder.capacity > 0 }

// Transition implements [sched.WorkerRecorder].
func (b *buffer) Transition(m sched.Moment, t sched.Transition) {
	b.counts[t.From][t.To]++
	s := b.charge(m, t.From)
	if t.Why == sched.WhyEnd {
		delete(b.stretches, m.Fiber)
	}
	if b.recorder.capacity > 0 {
		e := Event{Transition: t, At: b.since(m), Worker: m.Worker, Maker: b.worker, Fiber: m.Fiber, Task: s.task}
		b.events.keep(e, b.recorder.capacity)
	}
}

// Unbound implements [sched.WorkerRecorder].
func (b *buffer) Unbound() { b.recorder.forget(b) }

// since is the time from the recorder's beginning to m.
func (b *buffer) since(m sched.Moment) time.Duration { return m.At - b.recorder.began }
