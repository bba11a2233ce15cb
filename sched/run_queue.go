package sched

import (
	"sync/atomic"
	"time"

	"fiberlab/internal/clock"
	"fiberlab/internal/queue"
	"fiberlab/internal/release"
	"fiberlab/internal/spinlock"

	"golang.org/x/sys/cpu"
)

// runQueue holds what is ready in a group or on a worker, in the order in which it came. These are tasks that have not
// begun, which have no stack yet, and fibers that may continue. Any thread may call its methods. They block only for
// its lock, which is held for a few instructions an entry. Most methods handle one entry; takeHalf and pushAll handle
// the entries that move, and popFiber may go through all. The zero value is an empty queue.
type runQueue struct {
	_       [2]cpu.CacheLinePad
	mu      spinlock.Lock         // beside what follows, which most calls write
	length  atomic.Uint64         // of entries, doubled, to be read without the lock; runNext may be added
	entries queue.Queue[runnable] // 48 bytes

	closed  bool          // it refuses tasks
	longest atomic.Uint64 // the greatest length
	_       [2]cpu.CacheLinePad
}

// runNext, in the length, says that the only entry is a fiber that a worker has notified, which it mostly runs next.
const runNext = 1

// push adds an entry behind the others. A queue that is closed refuses a task, unless always is set; a fiber always
// finds room.
func (q *runQueue) push(r runnable, always bool) bool {
	q.mu.Lock()
	accepted := always || r.fiber() != nil || !q.closed
	if accepted {
		q.entries.Push(r)
		q.grown(0)
	}
	q.mu.Unlock()
	return accepted
}

// pushFiber is push of a fiber. If a worker has notified it, and it is the only entry, pushFiber returns true: mostly
// that worker takes it soon, when the notifier waits. See leaves.
func (q *runQueue) pushFiber(f *Fiber, byWorker bool) (isNext bool) {
	q.mu.Lock()
	next := uint64(0)
	if byWorker && q.entries.Empty() {
		next = runNext
	}
	q.entries.Push(ofFiber(f))
	q.grown(next)
	q.mu.Unlock()
	return next != 0
}

// patience is how long a worker that was idle leaves a fiber to the worker that has notified it.
const patience = clock.Instant(3 * time.Microsecond)

// leaves is for a worker that was idle and has found an entry. It waits for a moment if that is a fiber which another
// worker has notified. Two fibers that wake each other run on one worker thus, and not on two at the price of a
// cross-processor wake-up a turn. It reports whether the queue was seen empty: then the caller is idle as before.
// Otherwise it takes what is there.
func (q *runQueue) leaves() bool {
	for began := clock.Now(); q.length.Load()&runNext != 0 && clock.Now()-began < patience; {
		for range 8 {
			spinlock.Pause()
		}
	}
	return q.empty()
}

// grown lets others see the length, with runNext or 0, after entries were added. The lock must be held.
//
// The caller loads the masks of idle.Set next, to find a sleeper. If the queue was empty, all threads must see before
// that load that it is not. So grown uses Swap, an atomic read and write. A worker that still loads 0 has set its bit
// before the Swap, and the caller finds that bit. If the queue was not empty, a plain store will do: a worker that
// loads an old length mostly finds that it is not 0, and looks. If it finds 0, it came before the last Swap, and its
// bit is found.
func (q *runQueue) grown(next uint64) {
	n := uint64(q.entries.Len())
	if q.length.Load() == 0 {
		q.length.Swap(n<<1 | next)
	} else {
		release.Store(&q.length, n<<1|next)
	}
	if n > q.longest.Load() {
		release.Store(&q.longest, n)
	}
}

// pop takes the first entry.
func (q *runQueue) pop() (runnable, bool) { return q.take(false) }

// steal is pop for a worker of another group: an entry that is local to the group remains, and hides what is behind it.
func (q *runQueue) steal() (runnable, bool) { return q.take(true) }

// take is steal, if steals is true, or else pop. ok is false if there is nothing to take.
func (q *runQueue) take(steals bool) (r runnable, ok bool) {
	if q.empty() {
		return r, false
	}
	q.mu.Lock()
	if !q.has(steals) {
		q.mu.Unlock()
		return r, false
	}
	r = q.entries.Pop()
	q.popped()
	q.mu.Unlock()
	return r, true
}

// takeHalf moves half of the entries, the oldest and not more than most, to the end of another queue. It returns how
// many remain.
func (q *runQueue) takeHalf(to *queue.Queue[runnable], most int) (left int) {
	if q.empty() {
		return 0
	}
	q.mu.Lock()
	q.entries.MoveTo(to, min((q.entries.Len()+1)/2, most))
	q.popped()
	left = q.entries.Len()
	q.mu.Unlock()
	return left
}

// pushAll moves all entries of another queue behind the others.
func (q *runQueue) pushAll(from *queue.Queue[runnable]) {
	q.mu.Lock()
	from.MoveTo(&q.entries, from.Len())
	q.grown(0)
	q.mu.Unlock()
}

// popFiber takes the first entry if that is a fiber, and returns nil otherwise. If past is true, it takes the first
// fiber behind whatever tasks, and these keep their order.
func (q *runQueue) popFiber(past bool) (f *Fiber) {
	if q.empty() {
		return nil
	}
	q.mu.Lock()
	switch {
	case q.entries.Empty():
	case q.entries.Peek().fiber() != nil:
		f = q.entries.Pop().fiber()
	case past:
		f = q.takeFiber()
	}
	if f != nil {
		q.popped()
	}
	q.mu.Unlock()
	return f
}

// takeFiber takes the first fiber out, behind whatever tasks, or returns nil. It goes round the whole queue. The lock
// must be held.
func (q *runQueue) takeFiber() (f *Fiber) {
	for range q.entries.Len() {
		if r := q.entries.Pop(); f == nil && r.fiber() != nil {
			f = r.fiber()
		} else {
			q.entries.Push(r)
		}
	}
	return f
}

// popped notes that an entry has been taken. The lock must be held.
func (q *runQueue) popped() { release.Store(&q.length, uint64(q.entries.Len())<<1) }

// setClosed makes push refuse tasks from now on, or take them again.
func (q *runQueue) setClosed(closed bool) {
	q.mu.Lock()
	q.closed = closed
	q.mu.Unlock()
}

// has reports whether pop finds an entry, or steal if that is meant. The lock must be held.
func (q *runQueue) has(steals bool) bool {
	return !q.entries.Empty() && !(steals && q.entries.Peek().groupLocal())
}

// offers reports whether steal would find something.
func (q *runQueue) offers() bool {
	if q.empty() {
		return false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.has(true)
}

// empty reports whether no entry waits. It does not report so if an entry was pushed before that no worker has taken.
func (q *runQueue) empty() bool { return q.length.Load() == 0 }

// waiting is how many entries wait, by the last length that a holder of the lock has let others see.
func (q *runQueue) waiting() int { return int(q.length.Load() >> 1) }
