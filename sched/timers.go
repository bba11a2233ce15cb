package sched

import (
	"container/heap"

	"fiberlab/internal/clock"
)

// timer is the deadline of one wait of a fiber.
type timer struct {
	deadline clock.Instant
	fiber    *Fiber
	wait     word          // which wait it ends
	position int           // in the heap, plus one; 0 if it is in none
	lies     *workerTimers // where it was put, if the fiber may migrate
}

// timers is a heap of timers, the earliest first. It has no lock.
type timers struct {
	heap timerHeap
}

// next is the earliest deadline, or clock.Never.
func (t *timers) next() clock.Instant {
	if len(t.heap) == 0 {
		return clock.Never
	}
	return t.heap[0].deadline
}

func (t *timers) add(one *timer) { heap.Push(&t.heap, one) }

// remove takes one out, which must be in the heap.
func (t *timers) remove(one *timer) { heap.Remove(&t.heap, one.position-1) }

// take removes and returns a timer whose deadline has come by that moment, or nil.
func (t *timers) take(by clock.Instant) *timer {
	if len(t.heap) == 0 || t.heap[0].deadline > by {
		return nil
	}
	return heap.Pop(&t.heap).(*timer)
}

// expire ends the wait that t was made for, if nothing else has ended it. It reports whether the fiber, which is Queued
// then, has to be put where it will be run. A fiber that is unpublished is left to its worker: expire returns that, and
// the caller wakes it.
func (t *timer) expire() (ready bool, wake *Worker) {
	f := t.fiber
	for {
		old := f.load()
		switch {
		case old.wait() != t.wait || old.state() != Waiting || old&notified != 0:
			return false, nil
		case old&unpublished != 0:
			home := f.worker.Load()
			if f.mark(old, old|notified|expired) {
				return false, home
			}
		case f.swap(old, old.in(Queued)|expired, WhyTimeout):
			return true, nil
		}
	}
}

// timerHeap implements heap.Interface; each timer knows its position, so that it can be removed.
type timerHeap []*timer

func (h timerHeap) Len() int           { return len(h) }
func (h timerHeap) Less(i, j int) bool { return h[i].deadline < h[j].deadline }
func (h timerHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].position, h[j].position = i+1, j+1
}

func (h *timerHeap) Push(t any) {
	t.(*timer).position = len(*h) + 1
	*h = append(*h, t.(*timer))
}

func (h *timerHeap) Pop() any {
	last := len(*h) - 1
	t := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	t.position = 0
	return t
}
