package trace

import (
	"sync"
	"sync/atomic"

	"fiberlab/sched"
)

// buffer is one worker's part of a recorder, and implements [sched.WorkerRecorder]. The lock is hardly ever contended:
// the worker holds it to write, and callers of the recorder to read.
type buffer struct {
	recorder *Recorder

	sync.Mutex
	counts    Transitions
	events    []sched.Event        // the latest
	earliest  int                  // where they begin, once there are as many as there may be
	stretches map[int]*stretch     // by fiber
	times     map[string]*TaskTime // by name
	free      atomic.Bool          // the worker was a goroutine's, which has unbound: another worker may have the buffer
}

// Detailed implements [sched.WorkerRecorder]: only what keeps events needs more than counts.
func (b *buffer) Detailed() bool { return b.recorder.capacity > 0 }

// Record implements [sched.WorkerRecorder].
func (b *buffer) Record(e sched.Event) {
	switch e.Kind {
	case sched.KindTransition:
		b.counts[e.From][e.To]++
		b.charge(&e, e.From)
		if e.Why == sched.WhyEnd {
			delete(b.stretches, e.Fiber)
		}
	case sched.KindTaskBegan:
		b.charge(&e, sched.Running).inTask = true
		b.timesOf(e.Task).Tasks++
	case sched.KindTaskEnded:
		b.charge(&e, sched.Running).inTask = false
	case sched.KindUnbound:
		clear(b.stretches)
		b.free.Store(true)
	}
	e.At -= b.recorder.began
	switch capacity := b.recorder.capacity; {
	case len(b.events) < capacity:
		b.events = append(b.events, e)
	case capacity > 0:
		b.events[b.earliest] = e
		b.earliest = (b.earliest + 1) % capacity
	}
}

// appendTo appends the events to list, the earliest first.
func (b *buffer) appendTo(list []sched.Event) []sched.Event {
	return append(append(list, b.events[b.earliest:]...), b.events[:b.earliest]...)
}
