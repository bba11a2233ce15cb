package sched

import (
	"runtime"
	"sync/atomic"
)

// mostSpinning is how many workers may spin at once, on however many processors.
const mostSpinning = 8

// spinning has the numbers of the workers that spin.
type spinning struct {
	slots []atomic.Int64 // as many as may spin at once; each holds the number of a worker plus one, or 0
	next  atomic.Uint32
}

// newSpinning leaves half of the processors to the workers that have work.
func newSpinning() spinning {
	return spinning{slots: make([]atomic.Int64, min(max(runtime.GOMAXPROCS(0)/2, 1), mostSpinning))}
}

// enter puts a worker into a slot that is free, or whose worker has been notified and is about to leave it. It
// tells whether there was one. Two workers that wake each other in turn would otherwise find the slot taken each time.
func (s *spinning) enter(worker int, notified func(worker int) bool) bool {
	for i := range s.slots {
		before := s.slots[i].Load()
		if (before == 0 || notified(int(before-1))) && s.slots[i].CompareAndSwap(before, int64(worker+1)) {
			return true
		}
	}
	return false
}

// leave takes the worker out of its slot, if no other thread has taken it.
func (s *spinning) leave(worker int) {
	for i := range s.slots {
		if s.slots[i].CompareAndSwap(int64(worker+1), 0) {
			return
		}
	}
}

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
