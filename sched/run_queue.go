package sched

import (
	"sync/atomic"

	"fiberlab/internal/queue"
	"fiberlab/internal/release"
	"fiberlab/internal/spinlock"

	"golang.org/x/sys/cpu"
)

// runQueue holds what is ready in a group, on one worker or for all workers, in order of arrival. An entry is a fiber
// that may continue, or a task that has not begun and has no stack. Any thread may call methods that need no lock held.
//
// It has two locks, as a queue of Michael and Scott has: one for callers that push, one for callers that pop. So a
// thread that queues tasks and a worker that begins them do not wait for each other, nor for each other's cache lines.
// Each lock is held for a few instructions an entry. Most methods handle one entry; takeHalf and pushAll handle the
// entries that move, and popFiber may go through all. The zero value is an empty queue.
type runQueue struct {
	_       [2]cpu.CacheLinePad
	pushing spinlock.Lock // for the fields below it
	pushed  atomic.Uint64 // how many entries have been pushed; changed by Add, see idle.Set
	back    queue.Back[runnable]
	closed  bool // it refuses tasks
	_       [2]cpu.CacheLinePad

	popping spinlock.Lock // for the fields below it
	popped  atomic.Uint64 // how many entries have been popped
	seen    atomic.Uint64 // pushed, when a pop last loaded it
	front   queue.Front[runnable]
	_       [2]cpu.CacheLinePad
}

// push adds an entry behind the others, and returns true. It refuses a task, and returns false, if the queue is closed
// and always is false. It never refuses a fiber.
func (q *runQueue) push(r runnable, always bool) bool {
	q.pushing.Lock()
	accepted := always || r.fiber() != nil || !q.closed
	if accepted {
		q.back.Push(r, &q.front)
		q.pushed.Add(1)
	}
	q.pushing.Unlock()
	return accepted
}

// pop takes the first entry.
func (q *runQueue) pop() (runnable, bool) { return q.take(false) }

// steal is pop for a worker of another group: it takes nothing if the first entry is local to the group.
func (q *runQueue) steal() (runnable, bool) { return q.take(true) }

// take is steal, if steals is true, or else pop. ok is false if there is nothing to take.
func (q *runQueue) take(steals bool) (r runnable, ok bool) {
	if q.empty() {
		return r, false
	}
	q.popping.Lock()
	if ok = q.hasEntry() && !(steals && q.front.Peek().groupLocal()); ok {
		r = q.front.Pop()
		q.shrunk(1)
	}
	q.popping.Unlock()
	return r, ok
}

// hasEntry reports whether there is something to pop. It loads pushed, which other threads write, only if the entries
// that it saw there last have all been popped. The lock popping must be held.
func (q *runQueue) hasEntry() bool { return q.popped.Load() != q.seen.Load() || q.look() > 0 }

// look returns how many entries there are, which the caller may pop. The lock popping must be held.
func (q *runQueue) look() int {
	pushed := q.pushed.Load()
	release.Store(&q.seen, pushed)
	return int(pushed - q.popped.Load())
}

// shrunk counts n entries as popped. The lock popping must be held.
func (q *runQueue) shrunk(n int) { release.Store(&q.popped, q.popped.Load()+uint64(n)) }

// takeHalf moves the older half of the entries, but no more than the number most, to the end of another queue, which
// only the caller uses. It returns how many remain.
func (q *runQueue) takeHalf(to *queue.Queue[runnable], most int) (left int) {
	if q.empty() {
		return 0
	}
	q.popping.Lock()
	all := q.look()
	n := min((all+1)/2, most)
	for range n {
		to.Push(q.front.Pop())
	}
	q.shrunk(n)
	q.popping.Unlock()
	return all - n
}

// pushAll moves all entries of from behind the others, even if q is closed. Only the caller may use from.
func (q *runQueue) pushAll(from *queue.Queue[runnable]) {
	q.pushing.Lock()
	n := from.Len()
	for range n {
		q.back.Push(from.Pop(), &q.front)
	}
	q.pushed.Add(uint64(n))
	q.pushing.Unlock()
}

// popFiber takes the first entry if that is a fiber, and returns nil otherwise. If past is true, it takes the first
// fiber of the queue, or returns nil if there is none. The other entries keep their order.
func (q *runQueue) popFiber(past bool) (f *Fiber) {
	if q.empty() {
		return nil
	}
	q.popping.Lock()
	switch {
	case !q.hasEntry():
	case q.front.Peek().fiber() != nil:
		f = q.front.Pop().fiber()
	case past:
		f = q.takeFiber()
	}
	if f != nil {
		q.shrunk(1)
	}
	q.popping.Unlock()
	return f
}

// takeFiber takes the first fiber out, or returns nil if there is none. It pops each entry and pushes the others again.
// The lock popping must be held, and pushing must not. The caller calls shrunk for the fiber.
func (q *runQueue) takeFiber() (f *Fiber) {
	q.pushing.Lock()
	for range q.waiting() {
		if r := q.front.Pop(); f == nil && r.fiber() != nil {
			f = r.fiber()
		} else {
			q.back.Push(r, &q.front)
		}
	}
	q.pushing.Unlock()
	return f
}

// setClosed makes push refuse tasks from now on, or take them again.
func (q *runQueue) setClosed(closed bool) {
	q.pushing.Lock()
	q.closed = closed
	q.pushing.Unlock()
}

// offers reports whether steal would find something.
func (q *runQueue) offers() bool {
	if q.empty() {
		return false
	}
	q.popping.Lock()
	defer q.popping.Unlock()
	return q.hasEntry() && !q.front.Peek().groupLocal()
}

// empty reports whether no entry waits. It returns false if an entry was pushed before the call, and still waits.
func (q *runQueue) empty() bool {
	popped := q.popped.Load()
	return popped == q.seen.Load() && popped == q.pushed.Load()
}

// waiting is how many entries wait.
func (q *runQueue) waiting() int {
	for {
		popped, pushed := q.popped.Load(), q.pushed.Load()
		if popped == q.popped.Load() {
			return int(pushed - popped)
		}
	}
}
