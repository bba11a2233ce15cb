package sched

import (
	"container/heap"
	"sync"
	"sync/atomic"
	"time"

	"fiberlab/internal/clock"
	"fiberlab/internal/histogram"
	"fiberlab/internal/release"
)

// runQueue has what is ready in a group: tasks that have not begun, which have no stack yet, and fibers that go on.
//
// It has two locks, as a queue of Michael and Scott's: one of them is for pushes, the other one for pops, so that these
// do not wait for each other. Two counts tell what lies between. What has been pushed can be taken at once: no slot is
// reserved first and filled later.
//
// Each lock is held for a few instructions an entry. They are sync.Mutexes: while tasks come and go as fast as they
// can, two processors that hand a spinlock to and fro at each task take longer.
//
// Processors fetch a cache line from one another that both of them write, and the next one along with it. So what is
// pushed with, what is popped with and the rest are 128 bytes apart, and each side keeps what it has last seen of the
// other's count.
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

// publish tells of n that have been added. The caller releases the lock of pushes next, which is an atomic read and
// write: so whatever it loads after that, it loads when all can see this store; see masks.
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

// look makes the first the one at front, and reports whether there is one. The lock of pops must be held.
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

// takeFirst takes the first, after look. It returns when that was pushed, or 0 if that is not known. A worker that
// still sees the lower count looks in vain, which does no harm.
func (q *runQueue) takeFirst() (r runnable, since clock.Instant) {
	if q.taken%sampleEvery == sampleEvery-1 {
		since = q.front.since[q.taken/sampleEvery]
	}
	r, q.front.slots[q.taken] = q.front.slots[q.taken], runnable{}
	q.taken++
	release.Store(&q.popped, q.popped.Load()+1)
	return r, since
}

// empty reports whether nothing waits. It never says so if something has been pushed before that no worker has taken:
// popped is loaded first, and never overtakes the other two.
func (q *runQueue) empty() bool {
	n := q.popped.Load()
	return n == q.seen.Load() && n == q.pushed.Load()
}

// waiting is how many wait. It looks once more if one has been popped meanwhile: else a caller whose thread has stood
// still between the two loads would count all that was pushed in that time.
func (q *runQueue) waiting() int {
	for {
		popped := q.popped.Load()
		pushed := q.pushed.Load()
		if q.popped.Load() == popped {
			return int(pushed - popped)
		}
	}
}

var _ batching = (*groups)(nil)

// submitAll queues tasks in the caller's group; for a caller outside of all of them, a share in each group by its size.
func (p *groups) submitAll(tasks []job, caller *Worker) int {
	if caller != nil && caller.mode == multiThreaded {
		g, i := p.of(caller)
		if !g.submitAll(tasks, i) {
			return 0
		}
		return len(tasks)
	}
	left, workers := tasks, len(p.memberships)
	for next, refused := p.nextInTurn(), 0; len(left) > 0 && refused < len(p.all); next++ {
		g := p.all[next%len(p.all)]
		n := min((len(tasks)*len(g.workers)+workers-1)/workers, len(left))
		if g.submitAll(left[:n], -1) {
			left, refused = left[n:], 0
		} else {
			refused++
		}
	}
	return len(tasks) - len(left)
}

// submitAll is submit of several tasks: they go into the shared queue under one lock, and a worker is woken for each as
// long as there is one to wake. Either all are queued or none.
func (g *group) submitAll(tasks []job, from int) bool {
	if from >= 0 && g.cfg.Mode == AffinityMode {
		for _, t := range tasks {
			g.pushPrivate(from, runnable{task: t})
		}
		return true
	}
	if !g.shared.pushAll(tasks, from >= 0) {
		return false
	}
	for _, t := range tasks {
		if local := t.Flags&GroupLocal != 0; !g.wakeFor(local) && !local {
			break
		}
	}
	return true
}

// pushAll is put of several tasks.
func (q *runQueue) pushAll(tasks []job, always bool) bool {
	q.pushing.Lock()
	accepted := always || q.takers > 0
	if accepted {
		for _, t := range tasks {
			q.add(runnable{task: t})
		}
		q.publish(uint64(len(tasks)))
	}
	q.pushing.Unlock()
	return accepted
}

// Workers of a group that have nothing to do steal from the shared queues of other groups. A worker that spins looks at
// each of them as often as Groups.StealEvery says, and before it sleeps it looks at all.
//
// So what waits in a group whose workers are busy must wake a worker of another group if one sleeps there. The order is
// as in masks: the submitter queues it, and then loads the masks of its own group and of the thieves. A thief sets its
// bit, and then looks at the queues of its own group and of the victims.

// victims are the other groups that a worker steals from, ordered by when it looks there next.
type victims struct {
	looks int // how often the worker has found nothing in its own group
	queue victimQueue
}

// victim is one of them.
type victim struct {
	from  *group
	every int // it is looked at each so many times
	next  int // at this count of looks
}

// addVictim has each worker of g steal from another group.
func (g *group) addVictim(from *group, every int) {
	for _, m := range g.members {
		m.victims.add(from, every)
	}
	from.thieves = append(from.thieves, g)
}

func (v *victims) add(from *group, every int) {
	heap.Push(&v.queue, victim{from: from, every: every, next: every})
}

// steal takes one thing from a group whose turn has come, and reports whether it did. A group that had something stays
// where it is: perhaps it has more.
func (v *victims) steal() (r runnable, ok bool) {
	if len(v.queue) == 0 {
		return r, false
	}
	for v.looks++; v.queue[0].next <= v.looks; {
		top := &v.queue[0]
		if r, ok = top.from.shared.steal(); ok {
			return r, true
		}
		missed := (v.looks - top.next) / top.every // its turns while the worker found something at each look
		top.next += (missed + 1) * top.every
		heap.Fix(&v.queue, 0)
	}
	return r, false
}

// stealAny is steal from all groups, whether their turn has come or not.
func (v *victims) stealAny() (r runnable, ok bool) {
	for i := 0; i < len(v.queue) && !ok; i++ {
		r, ok = v.queue[i].from.shared.steal()
	}
	return r, ok
}

// wake wakes a worker for each group that has something to steal.
func (v *victims) wake() {
	for i := range v.queue {
		if from := v.queue[i].from; from.shared.offers() {
			from.wakeAny()
		}
	}
}

// steal brings worker i something from another group: if it is time to look there, or in the last look before it
// sleeps. It counts that first, as takeOver does. Worker i may take something else, and be busy with that for long. So
// what it brings goes to the shared queue, from where workers of all groups take it.
func (g *group) steal(i int, last bool) bool {
	m := g.members[i]
	r, ok := m.victims.steal()
	if !ok && last {
		r, ok = m.victims.stealAny()
	}
	if ok {
		m.across.add(1)
		g.workers[i].stolen.add(1)
		g.shared.put(r, true)
	}
	return ok
}

// wakeFor wakes a worker for something that has just been queued: one of the group, or of a group that steals from it,
// unless that is local to the group. It reports whether there was one, and counts what finds all workers busy.
func (g *group) wakeFor(local bool) bool {
	woken := g.wakeOne() || !local && g.wakeThief()
	if !woken {
		g.wakes.none.Add(1)
	}
	return woken
}

// wakeAny wakes a worker of the group. If none is idle, and the shared queue has something to steal, it wakes one of a
// group that steals.
func (g *group) wakeAny() {
	if !g.wakeOne() && len(g.thieves) > 0 && g.shared.offers() {
		g.wakeThief()
	}
}

// wakeThief wakes a worker of a group that steals from g, and reports whether one was idle. The worker may find
// something in its own group first. So it learns before that it was called: see group.found.
func (g *group) wakeThief() bool {
	for _, thief := range g.thieves {
		if thief.anyIdle() {
			thief.called.Store(true)
			if thief.wakeOne() {
				return true
			}
		}
	}
	return false
}

// uncover wakes a thief for what waited behind an entry that is local to the group: it has been refused to thieves
// until now.
func (g *group) uncover() {
	if g.shared.offers() {
		g.wakeThief()
	}
}

// victimQueue implements heap.Interface.
type victimQueue []victim

func (q victimQueue) Len() int           { return len(q) }
func (q victimQueue) Less(i, j int) bool { return q[i].next < q[j].next }
func (q victimQueue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *victimQueue) Push(v any)        { *q = append(*q, v.(victim)) }

func (q *victimQueue) Pop() any {
	last := len(*q) - 1
	v := (*q)[last]
	*q = (*q)[:last]
	return v
}
