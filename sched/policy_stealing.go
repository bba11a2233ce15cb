package sched

import (
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"fiberlab/internal/clock"
	"fiberlab/internal/idle"
	"fiberlab/internal/queue"
	"fiberlab/internal/spinlock"

	"golang.org/x/sys/cpu"
)

// stealing is the first policy, marl's: each worker has a queue of tasks, from which idle workers steal. A fiber
// remains on the worker that has begun it.
type stealing struct {
	workers []*Worker
	queues  []*taskQueues // by worker
	idle    *idle.Set

	_       [2]cpu.CacheLinePad // the next one is written at each task from outside
	arrived atomic.Uint64       // how many tasks, or shares, have come from outside
	_       [2]cpu.CacheLinePad
}

// taskQueues are the tasks of one worker. Others write the injection queue whenever they bring a task: they must not
// take the cache lines of the rest from the worker's processor.
type taskQueues struct {
	_     [2]cpu.CacheLinePad
	mu    spinlock.Lock
	tasks queue.Queue[job] // idle workers may steal these
	begun int              // tasks begun since some were last taken from the injection queue
	_     [2]cpu.CacheLinePad

	injected injectionQueue
	summoned atomic.Bool // the worker has been woken to steal, since it last had found work
	_        [2]cpu.CacheLinePad

	// Only the worker's thread uses these.
	batch    queue.Queue[job] // on its way to tasks from the injection queue or from a victim; empty at other times
	rotation int              // goes round the workers
	random   *rand.Rand
}

func newStealing(workers []*Worker) *stealing {
	p := &stealing{workers: workers, idle: newIdleSet(workers, mostSpinning())}
	for id := range workers {
		p.queues = append(p.queues, &taskQueues{random: rand.New(rand.NewPCG(uint64(clock.Now()), uint64(id)))})
	}
	return p
}

// mostBegun is how many tasks are begun in a row while others wait in the injection queue: tasks that enqueue further
// ones on their worker must not keep those out.
const mostBegun = 64

// mostTaken is how many tasks are then moved from the injection queue at once. It is much more than mostBegun,
// so that the queue empties, and its blocks are used again while they are in the cache.
const mostTaken = 16 * mostBegun

// submit gives the task to a worker that spins, else to one that sleeps. Otherwise a task of a worker remains there, or
// goes to a worker that is just being woken, alternately; a task from outside goes to each worker in rotation.
func (p *stealing) submit(t job, caller *Worker) bool {
	if i := p.idle.Claim(); i >= 0 && p.workers[i] != caller && p.give(p.workers[i], t) {
		return true
	}
	if caller != nil && caller.mode == multiThreaded {
		if w := p.nextInRotation(caller); w == caller || !w.word.Waking() || !p.give(w, t) {
			p.keep(caller, t)
		}
		return true
	}
	for range p.workers {
		if p.give(p.nextWorker(), t) {
			return true
		}
	}
	return false
}

// give puts a task into the injection queue of w, unless that takes no more. If w is busy after all, a worker that
// sleeps is woken to steal it.
func (p *stealing) give(w *Worker, t job) bool {
	if !p.queues[w.id].injected.put(t) {
		return false
	}
	if !w.word.Notify() {
		p.wakeOne()
	}
	return true
}

// keep queues a task on the caller's worker, which is busy. A worker that sleeps is woken to steal it.
func (p *stealing) keep(caller *Worker, t job) {
	q := p.queues[caller.id]
	q.mu.Lock()
	q.tasks.Push(t)
	q.mu.Unlock()
	p.wakeOne()
}

// nextWorker goes round the workers, for callers outside of them.
func (p *stealing) nextWorker() *Worker { return p.workers[p.arrived.Add(1)%uint64(len(p.workers))] }

// nextInRotation goes round the workers. caller is the worker that the call comes from.
func (p *stealing) nextInRotation(caller *Worker) *Worker {
	q := p.queues[caller.id]
	if q.rotation++; q.rotation >= len(p.workers) {
		q.rotation = 0
	}
	return p.workers[q.rotation]
}

func (p *stealing) wakeOther(*Worker) { p.wakeOne() }

// wakeOne wakes a worker that sleeps, if any does, to steal what has just been put into the queue of a busy worker. A
// worker that is being woken already would not do: it may find tasks in its queue, and then steals nothing.
func (p *stealing) wakeOne() {
	for i := p.idle.ClaimSleeper(); i >= 0; i = p.idle.ClaimSleeper() {
		p.queues[i].summoned.Store(true)
		if p.workers[i].word.Notify() {
			return
		}
	}
}

func (p *stealing) has(w *Worker) bool {
	q := p.queues[w.id]
	if q.injected.waiting.Load() > 0 {
		return true
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return !q.tasks.Empty()
}

// next takes a task from w's queue. All tasks of the injection queue move there when it is empty; some, after so many
// tasks were begun. They go by batch, since a thread that has one of the two locks does not wait for the other.
func (p *stealing) next(w *Worker) (runnable, bool) {
	q := p.queues[w.id]
	q.mu.Lock()
	if (q.tasks.Empty() || q.begun >= mostBegun) && q.injected.waiting.Load() > 0 {
		most := mostTaken
		if q.tasks.Empty() {
			most = math.MaxInt // all there are, which takes no longer than one
		}
		q.mu.Unlock()
		q.injected.take(&q.batch, most)
		q.mu.Lock()
		q.batch.MoveTo(&q.tasks, q.batch.Len())
		q.begun = 0
	}
	if q.tasks.Empty() {
		q.mu.Unlock()
		return runnable{}, false
	}
	t := q.tasks.Pop()
	q.begun++
	more := !q.tasks.Empty()
	q.mu.Unlock()
	// A task that comes to this worker from now on finds it busy, and wakes another.
	if more || q.injected.waiting.Load() > 0 {
		p.wakeOne()
	}
	return runnable{task: t}, true
}

func (p *stealing) shared() int { return 0 }

func (p *stealing) pending(w *Worker) int {
	q := p.queues[w.id]
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.tasks.Len() + int(q.injected.waiting.Load())
}

// found wakes another worker for what w, which has just found work, was woken for and will not do next. The thread that
// brought a task took w for idle, and has woken no other worker. A thread that called wakeOne may have chosen w after
// its last attempt to steal. If w has nothing but tasks, it begins one now, and next passes on what is left.
func (p *stealing) found(w *Worker) {
	summoned := &p.queues[w.id].summoned
	if summoned.Load() && summoned.Swap(false) || (w.hasLocal() || w.short()) && p.has(w) {
		p.wakeOne()
	}
}

func (p *stealing) setClosed(closed bool) {
	for _, q := range p.queues {
		q.injected.setClosed(closed)
	}
}

// mostStolen is how many tasks a thief takes at once, at most.
const mostStolen = 128

// seek steals half of the tasks that wait at another worker, beginning with a random one. If it is the last attempt
// before w sleeps, it waits for locks that are held; otherwise it passes over their queues.
//
// It skips a worker that is just being woken, and leaves it the tasks that were brought to it. A wake-up takes longer
// than to begin a hundred tasks. If they block at once, all of them would remain on the worker that began them. Later w
// seeks again, in case the skipped worker does not wake: see local.skipped.
func (p *stealing) seek(w *Worker, last bool) bool {
	q := p.queues[w.id]
	if q.injected.waiting.Load() > 0 {
		return true
	}
	w.local.skipped = false
	if len(p.workers) < 2 {
		return false
	}
	first := q.random.IntN(len(p.workers))
	for i := range p.workers {
		victim := p.workers[(first+i)%len(p.workers)]
		switch {
		case victim == w:
		case victim.word.Waking():
			w.local.skipped = w.local.skipped || p.queues[victim.id].injected.waiting.Load() > 0
		case p.stealFrom(w, victim, last):
			return true
		}
	}
	return false
}

// stealFrom takes from one victim: from its injection queue or, if that is empty, from its queue of tasks. If more
// tasks wait than w can begin at once, here or there, another worker is woken.
func (p *stealing) stealFrom(w, victim *Worker, wait bool) bool {
	to, from := p.queues[w.id], p.queues[victim.id]
	batch, left := &to.batch, 0
	if n := int(from.injected.waiting.Load()); n > 0 {
		from.injected.take(batch, min((n+1)/2, mostStolen))
		left = n - batch.Len()
	}
	if batch.Empty() {
		if wait {
			from.mu.Lock()
		} else if !from.mu.TryLock() {
			return false
		}
		from.tasks.MoveTo(batch, min((from.tasks.Len()+1)/2, mostStolen))
		left = from.tasks.Len()
		from.mu.Unlock()
	}
	if batch.Empty() {
		return false
	}
	w.stolen.add(uint64(batch.Len()))
	w.recordTook(batch.Len(), victim.String())
	more := batch.Len() > 1 || left > 0
	to.mu.Lock()
	batch.MoveTo(&to.tasks, batch.Len())
	to.mu.Unlock()
	if more {
		p.wakeOne()
	}
	return true
}

// injectionQueue is where other threads put tasks for a worker. It has a lock of its own. So threads do not contend for
// the worker's lock at each task: the worker takes many at once.
type injectionQueue struct {
	waiting atomic.Int64 // how many tasks it holds, to be read without the lock
	mu      sync.Mutex
	tasks   queue.Queue[job]
	closed  bool // the worker takes no more
}

// put adds a task. It returns false if the worker takes no more.
func (q *injectionQueue) put(t job) bool {
	spinlock.LockMutex(&q.mu)
	open := !q.closed
	if open {
		q.tasks.Push(t)
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

// setClosed makes put fail from now on, or succeed again.
func (q *injectionQueue) setClosed(closed bool) {
	q.mu.Lock()
	q.closed = closed
	q.mu.Unlock()
}
