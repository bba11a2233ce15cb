package sched

import (
	"sync"
	"sync/atomic"
)

// inbox is where others put tasks for a worker. It has a lock of its own, so that
// they do not meet the worker's at each task: the worker takes all there is at once.
type inbox struct {
	waiting atomic.Int64 // how many tasks it holds, to be read without the lock
	mu      sync.Mutex
	tasks   queue[job]
	pinned  queue[job] // those that are SameThread
	closed  bool       // the worker has stopped
}

// put adds a task, or tells that the worker takes no more.
func (b *inbox) put(t job) bool {
	b.mu.Lock()
	open := !b.closed
	if open {
		if t.Flags&SameThread != 0 {
			b.pinned.push(t)
		} else {
			b.tasks.push(t)
		}
		b.waiting.Store(int64(b.tasks.count + b.pinned.count))
	}
	b.mu.Unlock()
	return open
}

// take moves up to n tasks, but no SameThread ones, to the end of a queue.
func (b *inbox) take(to *queue[job], n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tasks.moveTo(to, min(n, b.tasks.count))
	b.waiting.Store(int64(b.tasks.count + b.pinned.count))
}

// takeOwn is take, and moves all SameThread tasks to the end of another queue; only the owner may call it.
func (b *inbox) takeOwn(to, pinned *queue[job], n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pinned.moveTo(pinned, b.pinned.count)
	b.tasks.moveTo(to, min(n, b.tasks.count))
	b.waiting.Store(int64(b.tasks.count))
}

// reopen takes close back.
func (b *inbox) reopen() {
	b.mu.Lock()
	b.closed = false
	b.mu.Unlock()
}

// close makes put fail from now on, unless tasks are waiting. It tells whether it did.
func (b *inbox) close() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = b.tasks.empty() && b.pinned.empty()
	return b.closed
}
