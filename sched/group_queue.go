package sched

import (
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/cpu"

	"fiberlab/internal/clock"
	"fiberlab/internal/histogram"
	"fiberlab/internal/queue"
	"fiberlab/internal/release"
)

// runQueue has what is ready in a group: tasks that have not begun, which have no stack yet, and fibers that go on.
// Its lock is held for a few instructions. It is a sync.Mutex: while tasks come and go as fast as they can, two processors that hand a spinlock
// to and fro at each task take longer. What has been pushed can be taken at once: no slot is reserved first and filled later.
type runQueue struct {
	_       [2]cpu.CacheLinePad
	waiting atomic.Uint64 // how many it holds, to be read without the lock
	mu      sync.Mutex
	entries queue.Queue[runnable]
	takers  int // workers that take tasks from it: without any, it refuses them

	// What is counted; see GroupStats.
	greatest       atomic.Uint64 // waiting at most
	pushed, popped uint64
	sampled        queue.Queue[clock.Instant] // when each 64th entry was pushed, of those that wait
	_              [2]cpu.CacheLinePad
	latency        histogram.Histogram // of the entries in sampled
}

// sampleEvery is one of how many entries has its time taken, which costs as much as to push it.
const sampleEvery = 64

// push puts one behind the others. It refuses a task if no worker takes any; a fiber always finds room. The store is
// sequentially consistent: see masks.
func (q *runQueue) push(r runnable) bool {
	q.mu.Lock()
	accepted := r.fiber != nil || q.takers > 0
	if accepted {
		q.add(r)
		q.grown()
	}
	q.mu.Unlock()
	return accepted
}

// add puts one behind the others; grown then tells how many wait. The lock must be held.
func (q *runQueue) add(r runnable) {
	q.entries.Push(r)
	if q.pushed++; q.pushed%sampleEvery == 0 {
		q.sampled.Push(clock.Now())
	}
}

func (q *runQueue) grown() {
	n := uint64(q.entries.Len())
	q.waiting.Store(n)
	if n > q.greatest.Load() {
		release.Store(&q.greatest, n)
	}
}

// pop takes the first.
func (q *runQueue) pop() (r runnable, ok bool) {
	if q.empty() {
		return r, false
	}
	var since clock.Instant
	q.mu.Lock()
	if ok = !q.entries.Empty(); ok {
		r, since = q.take()
	}
	q.mu.Unlock()
	q.sample(since)
	return r, ok
}

// steal is pop for a worker of another group: what is local to the group stays.
func (q *runQueue) steal() (r runnable, ok bool) {
	if q.empty() {
		return r, false
	}
	var since clock.Instant
	q.mu.Lock()
	if ok = !q.entries.Empty() && !q.entries.Peek().groupLocal(); ok {
		r, since = q.take()
	}
	q.mu.Unlock()
	q.sample(since)
	return r, ok
}

// take takes the first; there must be one, and the lock must be held. A worker that still sees the higher count
// looks in vain, which does no harm. It returns when the entry was pushed, or 0 if that is not known.
func (q *runQueue) take() (r runnable, since clock.Instant) {
	r = q.entries.Pop()
	release.Store(&q.waiting, uint64(q.entries.Len()))
	if q.popped++; q.popped%sampleEvery == 0 {
		since = q.sampled.Pop()
	}
	return r, since
}

// sample counts how long an entry has waited that was pushed then, or none if that is 0. It is called without the lock.
func (q *runQueue) sample(since clock.Instant) {
	if since != 0 {
		q.latency.Add(time.Duration(clock.Now() - since))
	}
}

func (q *runQueue) empty() bool { return q.waiting.Load() == 0 }
