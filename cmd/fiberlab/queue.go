package main

import (
	"slices"
	"sync"
	"time"

	"fiberlab/sched"
)

// queue hands items from tasks to tasks, in order, and holds at most so many. Who finds it full or empty
// waits on its fiber, so the worker's thread goes on with other tasks. Any number of tasks may use either
// end; only tasks may.
//
// The first in each line of waiting fibers has always been notified once there is something for it,
// and whoever has helped itself notifies the next one. So nobody waits for what is there.
type queue[T any] struct {
	mu       sync.Mutex
	capacity int
	items    []T
	ended    bool // nothing more will be put
	putters  []*sched.Fiber
	takers   []*sched.Fiber
}

func newQueue[T any](capacity int) *queue[T] { return &queue[T]{capacity: capacity} }

// put adds an item as soon as there is room. It returns false if the queue has ended.
func (q *queue[T]) put(item T) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.await(&q.putters, forEver, func() bool { return q.ended || len(q.items) < q.capacity })
	if q.ended {
		return false
	}
	q.items = append(q.items, item)
	q.notify()
	return true
}

// taken is what came of take.
type taken uint8

const (
	gotItem taken = iota
	gotNothing
	gotEnd
)

// forEver is a patience without end.
const forEver time.Duration = -1

// take returns the next item as soon as there is one. It returns gotNothing if none came within
// patience, gotEnd if the queue has ended and is empty.
func (q *queue[T]) take(patience time.Duration) (item T, _ taken) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.await(&q.takers, patience, func() bool { return q.ended || len(q.items) > 0 }) {
		return item, gotNothing
	}
	if len(q.items) == 0 {
		return item, gotEnd
	}
	item = q.items[0]
	q.items = slices.Delete(q.items, 0, 1)
	q.notify()
	return item, gotItem
}

// end says that nothing more will be put. What is there can still be taken, unless it is discarded.
func (q *queue[T]) end(discard bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ended = true
	if discard {
		q.items = nil
	}
	for _, f := range slices.Concat(q.putters, q.takers) {
		f.Notify()
	}
}

// await blocks the calling task in line until ready holds or patience has passed, and tells whether it
// holds.
func (q *queue[T]) await(line *[]*sched.Fiber, patience time.Duration, ready func() bool) bool {
	if ready() {
		return true
	}
	f := sched.Current()
	*line = append(*line, f)
	holds := true
	if patience == forEver {
		f.Wait(&q.mu, ready)
	} else {
		holds = f.WaitFor(&q.mu, patience, ready)
	}
	i := slices.Index(*line, f)
	*line = slices.Delete(*line, i, i+1)
	if !holds {
		q.notify()
	}
	return holds
}

// notify tells the first in each line that there is something for it.
func (q *queue[T]) notify() {
	if len(q.putters) > 0 && len(q.items) < q.capacity {
		q.putters[0].Notify()
	}
	if len(q.takers) > 0 && len(q.items) > 0 {
		q.takers[0].Notify()
	}
}
