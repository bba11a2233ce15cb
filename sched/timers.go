package sched

import (
	"container/heap"
	"math"
	"time"
)

// instant is a moment in nanoseconds on the monotonic clock since the program's
// start. Wall-clock time goes into no decision of the scheduler.
type instant int64

// never is the deadline of a wait that has none.
const never = instant(math.MaxInt64)

var start = time.Now()

func now() instant { return instant(time.Since(start)) }

// after is the instant that lies d from now; never if that is too far to tell.
func after(d time.Duration) instant {
	if t := now() + instant(d); d <= 0 || t > 0 {
		return t
	}
	return never
}

// at is the instant of t. By a t that has no reading of the monotonic clock, that depends on what
// the wall clock shows during this call.
func at(t time.Time) instant {
	if t == t.Round(0) {
		return after(time.Until(t))
	}
	return instant(t.Sub(start))
}

// waitingFibers holds the Waiting fibers of a worker, the earliest deadline first.
// The worker's lock guards it.
type waitingFibers struct {
	fibers deadlineHeap
}

func (w *waitingFibers) empty() bool { return len(w.fibers) == 0 }

// next is the earliest deadline, or never.
func (w *waitingFibers) next() instant {
	if len(w.fibers) == 0 {
		return never
	}
	return w.fibers[0].deadline
}

func (w *waitingFibers) add(f *Fiber, deadline instant) {
	f.deadline = deadline
	heap.Push(&w.fibers, f)
}

func (w *waitingFibers) remove(f *Fiber) { heap.Remove(&w.fibers, f.position) }

// take removes and returns a fiber whose deadline has come, or nil.
func (w *waitingFibers) take(by instant) *Fiber {
	if len(w.fibers) == 0 || w.fibers[0].deadline > by {
		return nil
	}
	return heap.Pop(&w.fibers).(*Fiber)
}

// deadlineHeap implements heap.Interface; each fiber knows its position, so that it
// can be removed.
type deadlineHeap []*Fiber

func (h deadlineHeap) Len() int           { return len(h) }
func (h deadlineHeap) Less(i, j int) bool { return h[i].deadline < h[j].deadline }
func (h deadlineHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].position, h[j].position = i, j
}

func (h *deadlineHeap) Push(f any) {
	f.(*Fiber).position = len(*h)
	*h = append(*h, f.(*Fiber))
}

func (h *deadlineHeap) Pop() any {
	last := len(*h) - 1
	f := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return f
}
