package sched

import (
	"container/heap"

	"fiberlab/internal/clock"
)

// waitingFibers holds the Waiting fibers of a worker, the earliest deadline first.
// The worker's lock guards it.
type waitingFibers struct {
	fibers deadlineHeap
}

func (w *waitingFibers) empty() bool { return len(w.fibers) == 0 }

// next is the earliest deadline, or never.
func (w *waitingFibers) next() clock.Instant {
	if len(w.fibers) == 0 {
		return clock.Never
	}
	return w.fibers[0].deadline
}

func (w *waitingFibers) add(f *Fiber, deadline clock.Instant) {
	f.deadline = deadline
	heap.Push(&w.fibers, f)
}

func (w *waitingFibers) remove(f *Fiber) { heap.Remove(&w.fibers, f.position) }

// take removes and returns a fiber whose deadline has come, or nil.
func (w *waitingFibers) take(by clock.Instant) *Fiber {
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
