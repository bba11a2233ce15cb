package uring

import (
	"container/heap"
	"time"

	"fiberlab/internal/clock"
)

// epollTimer is when something happens to a request.
type epollTimer struct {
	due     clock.Instant
	request *epollRequest // nil: the timer does not run
	place   int
}

// epollTimers are the timers that run, as a heap.
type epollTimers []*epollTimer

// after is when the time of op, a timeout or limit, has passed.
func after(op entry) clock.Instant {
	if op.offset > uint64(clock.Never) {
		return clock.Never
	}
	return clock.After(time.Duration(op.offset))
}

// next is when the first timer is due.
func (t epollTimers) next() clock.Instant {
	if len(t) == 0 {
		return clock.Never
	}
	return t[0].due
}

func (t *epollTimers) start(timer *epollTimer, r *epollRequest, due clock.Instant) {
	timer.due, timer.request = due, r
	heap.Push(t, timer)
}

// stop stops a timer, if it runs.
func (t *epollTimers) stop(timer *epollTimer) {
	if timer.request != nil {
		heap.Remove(t, timer.place)
		timer.request = nil
	}
}

// Len implements heap.Interface.
func (t epollTimers) Len() int { return len(t) }

// Less implements heap.Interface.
func (t epollTimers) Less(i, j int) bool { return t[i].due < t[j].due }

// Swap implements heap.Interface.
func (t epollTimers) Swap(i, j int) {
	t[i], t[j] = t[j], t[i]
	t[i].place, t[j].place = i, j
}

// Push implements heap.Interface.
func (t *epollTimers) Push(x any) {
	timer := x.(*epollTimer)
	timer.place = len(*t)
	*t = append(*t, timer)
}

// Pop implements heap.Interface.
func (t *epollTimers) Pop() any {
	last := len(*t) - 1
	timer := (*t)[last]
	(*t)[last] = nil
	*t = (*t)[:last]
	return timer
}
