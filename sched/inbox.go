package sched

import (
	"sync"
	"sync/atomic"

	"fiberlab/internal/queue"
)

// inbox is where others put tasks for a worker. It has a lock of its own, so that
// they do not meet the worker's at each task: the worker takes all there is at once.
type inbox struct {
	waiting atomic.Int64 // how many tasks it holds, to be read without the lock
	kept    atomic.Int64 // how many of these are SameThread
	mu      sync.Mutex
	tasks   queue.Queue[job]
	pinned  queue.Queue[job] // those that are SameThread
	closed  bool             // the worker has stopped
}

// put adds a task, or tells that the worker takes no more.
func (b *inbox) put(t job) bool {
	b.mu.Lock()
	open := !b.closed
	if open {
		if t.Flags&SameThread != 0 {
			b.pinned.Push(t)
		} else {
			b.tasks.Push(t)
		}
		b.waiting.Store(int64(b.tasks.Len() + b.pinned.Len()))
		if !b.pinned.Empty() {
			b.kept.Store(int64(b.pinned.Len()))
		}
	}
	b.mu.Unlock()
	return open
}

// forThieves is how many tasks another worker may take. While a SameThread task is put it may
// be one too many, and never too few: a worker that is woken for nothing sleeps again, a
// task of which nobody is told would wait.
func (b *inbox) forThieves() int {
	kept := b.kept.Load()
	return int(b.waiting.Load() - kept)
}

// take moves up to n tasks, but no SameThread ones, to the end of a queue.
func (b *inbox) take(to *queue.Queue[job], n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tasks.MoveTo(to, min(n, b.tasks.Len()))
	b.waiting.Store(int64(b.tasks.Len() + b.pinned.Len()))
}

// takeOwn is take, and moves all SameThread tasks to the end of another queue; only the owner may call it.
func (b *inbox) takeOwn(to, pinned *queue.Queue[job], n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.pinned.Empty() {
		b.pinned.MoveTo(pinned, b.pinned.Len())
		b.kept.Store(0)
	}
	b.tasks.MoveTo(to, min(n, b.tasks.Len()))
	b.waiting.Store(int64(b.tasks.Len()))
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
	b.closed = b.tasks.Empty() && b.pinned.Empty()
	return b.closed
}
