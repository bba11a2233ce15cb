package sched

import (
	"math/rand/v2"
	"sync/atomic"

	"fiberlab/internal/clock"
	"fiberlab/internal/idle"
	"fiberlab/internal/queue"

	"golang.org/x/sys/cpu"
)

// stealing is the first policy, marl's: each worker has a queue of tasks, from which idle workers steal. A fiber
// remains on the worker that has begun it.
type stealing struct {
	workers []*Worker
	queues  []*taskQueue // by worker
	idle    *idle.Set

	_       [2]cpu.CacheLinePad // the next one is written at each task from outside
	arrived atomic.Uint64       // how many tasks have come from outside
	_       [2]cpu.CacheLinePad
}

// taskQueue has the tasks of one worker. Idle workers may steal them.
type taskQueue struct {
	runQueue

	// Only the worker's thread uses these.
	batch    queue.Queue[runnable] // on its way from a victim; empty at other times
	rotation int                   // goes round the workers
	random   *rand.Rand
}

func newStealing(workers []*Worker) *stealing {
	p := &stealing{workers: workers, idle: newIdleSet(workers, mostSpinning())}
	for id := range workers {
		p.queues = append(p.queues, &taskQueue{random: rand.New(rand.NewPCG(uint64(clock.Now()), uint64(id)))})
	}
	return p
}

// inARow is how many tasks from outside go to the same worker, before the next worker has its turn. A submitter that
// fills one queue leaves the other workers the cache lines of theirs.
const inARow = 64

// submit implements policy. The task goes to a worker that spins, else to one that sleeps. If there is none, a worker's
// task goes into its own queue, or to its nextInRotation if that is just being woken. Other tasks go to the workers in
// turn, inARow to each.
func (p *stealing) submit(t runnable, caller *Worker) bool {
	if p.idle.AnyIdle() && p.giveIdle(t, caller) {
		return true
	}
	if caller != nil && caller.mode == multiThreaded {
		if w := p.nextInRotation(caller); w == caller || !w.word.Waking() || !p.give(w, t) {
			p.queues[caller.id].push(t, true)
			if p.idle.AnyIdle() {
				p.idle.WakeSleeper() // the caller is busy
			}
		}
		return true
	}
	return p.give(p.workers[p.arrived.Add(1)/inARow%uint64(len(p.workers))], t)
}

// give puts a task into the queue of w and notifies w, or returns false if the queue is closed. If w is busy, or has
// been notified already, give wakes a sleeping worker, which then steals the task. A worker that is already being woken
// is not enough: it may find tasks in its own queue, and then steals nothing.
func (p *stealing) give(w *Worker, t runnable) bool {
	if !p.queues[w.id].push(t, false) {
		return false
	}
	if !w.word.Notify() && p.idle.AnyIdle() {
		p.idle.WakeSleeper()
	}
	return true
}

// giveIdle claims an idle worker, and reports whether it has given t to it. It gives nothing to caller. If the worker's
// queue is closed, giveIdle wakes it for nothing: others do not see any more that it is idle.
func (p *stealing) giveIdle(t runnable, caller *Worker) bool {
	i := p.idle.Claim()
	if i < 0 || p.workers[i] == caller {
		return false
	}
	given := p.give(p.workers[i], t)
	if !given {
		p.workers[i].word.Notify()
	}
	return given
}

// nextInRotation returns the next worker in caller's own rotation. The worker caller calls it on its thread.
func (p *stealing) nextInRotation(caller *Worker) *Worker {
	q := p.queues[caller.id]
	if q.rotation++; q.rotation >= len(p.workers) {
		q.rotation = 0
	}
	return p.workers[q.rotation]
}

// next implements policy: it takes the oldest task of w's queue. If more are left, it wakes a sleeping worker, which
// steals them. A caller that queues a task here later finds w busy, and wakes a worker.
func (p *stealing) next(w *Worker) (runnable, bool) {
	q := p.queues[w.id]
	r, ok := q.pop()
	if ok && p.idle.AnyIdle() && !q.empty() {
		p.idle.WakeSleeper()
	}
	return r, ok
}

func (p *stealing) wakeOther(*Worker)  { p.idle.WakeSleeper() }
func (p *stealing) has(w *Worker) bool { return !p.queues[w.id].empty() }

func (p *stealing) pending(*Worker) (n int) { // of policy: any worker may take from all queues, by stealing
	for _, q := range p.queues {
		n += q.waiting()
	}
	return n
}

func (p *stealing) setClosed(closed bool) {
	for _, q := range p.queues {
		q.setClosed(closed)
	}
}

// found implements policy: it wakes another worker if a task waits that w does not begin next, since its submitter may
// have woken w alone. Such a task is at another worker that is not just being woken, or at w if w is short or has
// something local to run first. Otherwise w begins its first task now, and next wakes a worker for the rest.
func (p *stealing) found(w *Worker) {
	if !p.idle.AnyIdle() {
		return // the common case under load
	}
	for i, of := range p.workers {
		if (of != w || w.hasLocal() || w.short()) && !p.queues[i].empty() && !of.word.Waking() {
			p.idle.WakeSleeper()
			return
		}
	}
}

// mostStolen is how many tasks a thief takes at once, at most.
const mostStolen = 128

// seek implements policy: if w has no task, it steals half of another worker's tasks. It begins at a random worker.
//
// It skips a worker that is just being woken, and leaves it the tasks that were brought to it. During a wake-up w could
// begin a hundred tasks. If they blocked at once, all of them would remain on w. Later w seeks again, in case the
// skipped worker does not wake: see local.skipped.
func (p *stealing) seek(w *Worker, _ bool) bool {
	if p.has(w) {
		return true
	}
	w.local.skipped = false
	if len(p.workers) < 2 {
		return false
	}
	first := p.queues[w.id].random.IntN(len(p.workers))
	for i := range p.workers {
		victim := p.workers[(first+i)%len(p.workers)]
		switch {
		case victim == w:
		case victim.word.Waking():
			w.local.skipped = w.local.skipped || p.has(victim)
		case p.stealFrom(w, victim):
			return true
		}
	}
	return false
}

// stealFrom moves tasks from one victim to w, as takeHalf does, and reports whether there were any. If more than one
// waits then, at w and the victim together, it wakes a worker that sleeps.
func (p *stealing) stealFrom(w, victim *Worker) bool {
	to := p.queues[w.id]
	left := p.queues[victim.id].takeHalf(&to.batch, mostStolen)
	n := to.batch.Len()
	if n == 0 {
		return false
	}
	w.stolen.add(uint64(n))
	w.recordEvent(Event{Kind: KindStole, Count: int32(n), Text: victim.String()})
	to.pushAll(&to.batch)
	if n > 1 || left > 0 {
		p.idle.WakeSleeper()
	}
	return true
}
