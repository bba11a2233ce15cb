package sched

import (
	"sync/atomic"

	"golang.org/x/sys/cpu"

	"fiberlab/internal/queue"
	"fiberlab/internal/release"
	"fiberlab/internal/spinlock"
)

// runQueue has what is ready in a group: tasks that have not begun, which have no stack yet, and fibers that go on.
// Its lock is held for a few instructions. What has been pushed can be taken at once: no slot is reserved first and filled later.
type runQueue struct {
	_       [2]cpu.CacheLinePad
	waiting atomic.Uint64 // how many it holds, to be read without the lock
	mu      spinlock.Lock
	entries queue.Queue[runnable]
	takers  int // workers that take tasks from it: without any, it refuses them
	_       [2]cpu.CacheLinePad
}

// push puts one behind the others. It refuses a task if no worker takes any; a fiber always finds room. The store is
// sequentially consistent: see masks.
func (q *runQueue) push(r runnable) bool {
	q.mu.Lock()
	accepted := r.fiber != nil || q.takers > 0
	if accepted {
		q.entries.Push(r)
		q.waiting.Store(uint64(q.entries.Len()))
	}
	q.mu.Unlock()
	return accepted
}

// pop takes the first.
func (q *runQueue) pop() (r runnable, ok bool) {
	if q.empty() {
		return r, false
	}
	q.mu.Lock()
	if ok = !q.entries.Empty(); ok {
		r = q.take()
	}
	q.mu.Unlock()
	return r, ok
}

// steal is pop for a worker of another group: what is local to the group stays.
func (q *runQueue) steal() (r runnable, ok bool) {
	if q.empty() {
		return r, false
	}
	q.mu.Lock()
	if ok = !q.entries.Empty() && !q.entries.Peek().groupLocal(); ok {
		r = q.take()
	}
	q.mu.Unlock()
	return r, ok
}

// take takes the first; there must be one, and the lock must be held. A worker that still sees the higher count
// looks in vain, which does no harm.
func (q *runQueue) take() runnable {
	r := q.entries.Pop()
	release.Store(&q.waiting, uint64(q.entries.Len()))
	return r
}

func (q *runQueue) empty() bool { return q.waiting.Load() == 0 }
