package sched

import (
	"sync"
	"sync/atomic"

	"fiberlab/internal/queue"
)

// injectionQueue is where other threads put tasks for a worker. It has its own lock, so that
// they do not contend for the worker's at each task: the worker takes many at once.
type injectionQueue struct {
	waiting atomic.Int64 // how many tasks it holds, to be read without the lock
	mu      sync.Mutex
	tasks   queue.Queue[job]
	closed  bool // the worker takes no more
}

// put adds a task, or tells that the worker takes no more.
func (q *injectionQueue) put(t job) bool {
	q.mu.Lock()
	open := !q.closed
	if open {
		q.tasks.Push(t)
		q.waiting.Store(int64(q.tasks.Len()))
	}
	q.mu.Unlock()
	return open
}

// putAll is put of several tasks.
func (q *injectionQueue) putAll(tasks []job) bool {
	q.mu.Lock()
	open := !q.closed
	if open {
		for _, t := range tasks {
			q.tasks.Push(t)
		}
		q.waiting.Store(int64(q.tasks.Len()))
	}
	q.mu.Unlock()
	return open
}

// take moves up to n tasks to the end of another queue.
func (q *injectionQueue) take(to *queue.Queue[job], n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.tasks.MoveTo(to, min(n, q.tasks.Len()))
	q.waiting.Store(int64(q.tasks.Len()))
}

// close makes put fail from now on, unless tasks are waiting. It tells whether it did.
func (q *injectionQueue) close() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = q.tasks.Empty()
	return q.closed
}

// reopen takes close back.
func (q *injectionQueue) reopen() {
	q.mu.Lock()
	q.closed = false
	q.mu.Unlock()
}
