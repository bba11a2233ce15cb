package sched

import (
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"fiberlab/internal/clock"
	"fiberlab/internal/spinlock"
)

// A worker that has run out of work spins for a while before it sleeps: to be
// woken takes its notifier a system call and itself many microseconds. But a spin
// that finds nothing is lost, so each worker spins no longer than has paid lately.
const (
	longestSpin  = clock.Instant(50 * time.Microsecond)
	shortestSpin = clock.Instant(2 * time.Microsecond)
)

// spinBudget is how long a worker may spin, next time.
type spinBudget struct {
	limit clock.Instant
	brief bool // its last sleep was so short that a spin would have found the work
}

// found says that a spin found work after that time.
func (b *spinBudget) found(after clock.Instant) { b.limit = min(max(b.limit, 4*after), longestSpin) }

// wasted says that a spin found nothing.
func (b *spinBudget) wasted() { b.limit = max(b.limit/2, shortestSpin) }

// slept says that the worker slept for that time.
func (b *spinBudget) slept(d clock.Instant) {
	b.brief = d < longestSpin
	if b.brief {
		b.limit = max(b.limit, min(2*d, longestSpin))
	}
}

// polls is how often the bell is looked at between two looks at the clock and at what
// could be stolen.
const polls = 64

// spinForWork waits awake: until the bell is rung, something has been stolen, the
// budget is used up, or the earliest deadline has come. While it does, the
// worker is among the scheduler's spinning workers, which get new tasks first. Only a
// few may spin at once; the others return after one attempt to steal. The lock must
// not be held, and the bell must have been hushed with it held.
func (w *Worker) spinForWork(deadline clock.Instant) {
	if w.inbox.waiting.Load() > 0 || w.steal(false) {
		return
	}
	place := w.scheduler.spinning.enter(w.id)
	if place < 0 {
		return
	}
	defer w.scheduler.spinning.leave(place, w.id)
	began := clock.Now()
	end := min(began+max(w.spin.limit, shortestSpin), deadline)
	for {
		for range polls {
			if w.bell.wasRung() {
				w.spin.found(clock.Now() - began)
				return
			}
			spinlock.Pause()
		}
		if w.steal(false) {
			w.spin.found(clock.Now() - began)
			return
		}
		if clock.Now() >= end {
			w.spin.wasted()
			return
		}
		unix.Syscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
	}
}

// mostSpinning is how many workers may spin at once, on however many processors.
const mostSpinning = 8

// spinning has the numbers of the workers that spin.
type spinning struct {
	slots []slot // as many as may spin at once
	next  atomic.Uint32
}

// slot holds the number of a worker plus one, or 0.
type slot struct{ atomic.Int64 }

// newSpinning leaves half of the processors to those who work.
func newSpinning() spinning {
	return spinning{slots: make([]slot, min(max(runtime.GOMAXPROCS(0)/2, 1), mostSpinning))}
}

// enter puts a worker into a free slot and returns which, or -1 if there is none.
func (s *spinning) enter(worker int) int {
	for i := range s.slots {
		if s.slots[i].CompareAndSwap(0, int64(worker+1)) {
			return i
		}
	}
	return -1
}

// leave empties the slot, if nobody has taken the worker out of it.
func (s *spinning) leave(place, worker int) { s.slots[place].CompareAndSwap(int64(worker+1), 0) }

// take takes a worker out, and returns its number, or -1 if none spins. It goes
// round, so that tasks are spread over all that spin.
func (s *spinning) take() int {
	for i := range s.slots {
		at := i
		if len(s.slots) > 1 {
			at = int(s.next.Load()+uint32(i)) % len(s.slots)
		}
		if s.slots[at].Load() == 0 {
			continue
		}
		if worker := s.slots[at].Swap(0); worker != 0 {
			if len(s.slots) > 1 {
				s.next.Add(1)
			}
			return int(worker - 1)
		}
	}
	return -1
}
