package sched

import (
	"sync"
	"sync/atomic"
	"time"

	"fiberlab/internal/clock"
	"fiberlab/internal/histogram"
	"fiberlab/internal/release"
)

// runQueue has what is ready in a group: tasks that have not begun, which have no stack yet, and fibers that go on.
//
// It has two locks, as a queue of Michael and Scott's: one of them is for pushes, the other one for pops, so that these do not wait
// for each other. Two counts tell what lies between. What has been pushed can be taken at once: no slot is reserved first and
// filled later.
//
// Each lock is held for a few instructions an entry. They are sync.Mutexes: while tasks come and go as fast as they can, two processors that hand
// a spinlock to and fro at each task take longer.
//
// Processors fetch a cache line from one another that both of them write, and the next one along with it. So what is pushed with, what is
// popped with and the rest are 128 bytes apart, and each side keeps what it has last seen of the other's count.
type runQueue struct {
	pushing sync.Mutex
	pushed  atomic.Uint64 // how many have been pushed
	back    *runBlock
	filled  int           // how many slots of back are
	first   *runBlock     // the first of all blocks
	gone    uint64        // popped, when a push has last looked
	longest atomic.Uint64 // how many have waited at most; see GroupStats
	takers  int           // workers that take tasks: without any, it refuses them
	_       [128 - 64]byte

	popping sync.Mutex
	popped  atomic.Uint64 // how many have been popped
	seen    atomic.Uint64 // pushed, when a pop has last looked
	front   *runBlock
	taken   int // how many slots of front are empty again
	_       [128 - 40]byte

	spare   atomic.Pointer[runBlock] // empty blocks: pops add to them, and pushes take them
	latency *histogram.Histogram     // of each 64th entry
	_       [128 - 16]byte
}

// runBlock is a piece of a run queue.
type runBlock struct {
	slots [runBlockSize]runnable
	since [runBlockSize / sampleEvery]clock.Instant // when each 64th was pushed
	next  *runBlock
}

const runBlockSize = 2 * sampleEvery

// sampleEvery is one of how many entries has its time taken, which costs as much as to push it.
const sampleEvery = 64

// newRunQueue makes an empty queue from which so many workers take tasks. It is a separate piece of memory: that
// begins with a cache line.
func newRunQueue(takers int) *runQueue {
	return &runQueue{takers: takers, filled: runBlockSize, latency: new(histogram.Histogram)}
}

// push puts one behind the others. It refuses a task if no worker takes any; a fiber always finds room.
func (q *runQueue) push(r runnable) bool { return q.put(r, false) }

// put is push that refuses nothing if always is true.
func (q *runQueue) put(r runnable, always bool) bool {
	q.pushing.Lock()
	accepted := always || r.fiber != nil || q.takers > 0
	if accepted {
		q.add(r)
		q.publish(1)
	}
	q.pushing.Unlock()
	return accepted
}

// add puts one behind the others; publish then tells of it. The lock of pushes must be held.
func (q *runQueue) add(r runnable) {
	if q.filled == runBlockSize {
		q.addBlock()
	}
	if q.filled%sampleEvery == sampleEvery-1 {
		q.back.since[q.filled/sampleEvery] = clock.Now()
	}
	q.back.slots[q.filled] = r
	q.filled++
}

// addBlock puts a block behind the last one, which is full.
func (q *runQueue) addBlock() {
	b := q.spare.Load()
	for b != nil && !q.spare.CompareAndSwap(b, b.next) {
		b = q.spare.Load()
	}
	if b == nil {
		b = new(runBlock)
	}
	b.next = nil
	if q.back == nil {
		q.first = b
	} else {
		q.back.next = b
	}
	q.back, q.filled = b, 0
}

// publish tells of n that have been added. The caller releases the lock of pushes next, which is an atomic read and write: so whatever it loads
// after that, it loads when all can see this store; see masks.
func (q *runQueue) publish(n uint64) {
	n += q.pushed.Load()
	release.Store(&q.pushed, n)
	if n-q.gone > q.longest.Load() {
		if q.gone = q.popped.Load(); n-q.gone > q.longest.Load() {
			release.Store(&q.longest, n-q.gone)
		}
	}
}

// pop takes the first.
func (q *runQueue) pop() (runnable, bool) { return q.take(false) }

// steal is pop for a worker of another group: what is local to the group stays.
func (q *runQueue) steal() (runnable, bool) { return q.take(true) }

// offers reports whether steal would find something.
func (q *runQueue) offers() bool {
	if q.empty() {
		return false
	}
	q.popping.Lock()
	defer q.popping.Unlock()
	return q.look() && !q.front.slots[q.taken].groupLocal()
}

// take takes the first, unless it is local to the group and the caller belongs to another one.
func (q *runQueue) take(steals bool) (r runnable, ok bool) {
	if q.empty() {
		return r, false
	}
	var since clock.Instant
	q.popping.Lock()
	if ok = q.look() && !(steals && q.front.slots[q.taken].groupLocal()); ok {
		r, since = q.takeFirst()
	}
	q.popping.Unlock()
	if since != 0 {
		q.latency.Add(time.Duration(clock.Now() - since))
	}
	return r, ok
}

// look makes the first the one at front, and tells whether there is one. The lock of pops must be held.
func (q *runQueue) look() bool {
	n := q.popped.Load()
	if n == q.seen.Load() {
		release.Store(&q.seen, q.pushed.Load())
		if n == q.seen.Load() {
			return false
		}
	}
	switch {
	case q.front == nil:
		q.front = q.first
	case q.taken == runBlockSize:
		q.removeBlock()
	}
	return true
}

// removeBlock takes the first block away, which is empty; there must be another one.
func (q *runQueue) removeBlock() {
	b := q.front
	q.front, q.taken = b.next, 0
	for {
		b.next = q.spare.Load()
		if q.spare.CompareAndSwap(b.next, b) {
			return
		}
	}
}

// takeFirst takes the first, after look. It returns when that was pushed, or 0 if that is not known. A worker that still sees the lower count looks in vain,
// which does no harm.
func (q *runQueue) takeFirst() (r runnable, since clock.Instant) {
	if q.taken%sampleEvery == sampleEvery-1 {
		since = q.front.since[q.taken/sampleEvery]
	}
	r, q.front.slots[q.taken] = q.front.slots[q.taken], runnable{}
	q.taken++
	release.Store(&q.popped, q.popped.Load()+1)
	return r, since
}

// empty tells whether nothing waits. It never says so if something has been pushed before that no worker has taken: popped is loaded first, and
// never overtakes the other two.
func (q *runQueue) empty() bool {
	n := q.popped.Load()
	return n == q.seen.Load() && n == q.pushed.Load()
}

// waiting is how many wait. It looks once more if one has been popped meanwhile: else a caller whose thread has stood still between
// the two loads would count all that was pushed in that time.
func (q *runQueue) waiting() int {
	for {
		popped := q.popped.Load()
		pushed := q.pushed.Load()
		if q.popped.Load() == popped {
			return int(pushed - popped)
		}
	}
}
