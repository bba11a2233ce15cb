package sched

import "fiberlab/internal/idle"

// roundRobin is the plainest policy: one queue for all workers, of tasks and of fibers that are ready, in the order in
// which they came, and one lock. So fibers migrate. An idle worker spins as long as that pays, then sleeps.
type roundRobin struct {
	idle  *idle.Set
	queue runQueue
}

func newRoundRobin(workers []*Worker) *roundRobin {
	p := &roundRobin{idle: newIdleSet(workers, mostSpinning())}
	p.queue.takers = len(workers)
	return p
}

func (p *roundRobin) submit(t job, caller *Worker) bool {
	pushed := p.queue.push(runnable{task: t}, caller != nil && caller.mode == multiThreaded)
	if p.idle.AnyIdle() { // the compiler inlines this question, and not WakeOne
		p.idle.WakeOne()
	}
	return pushed
}

func (p *roundRobin) ready(f *Fiber, caller *Worker) {
	byWorker := caller != nil && caller.mode == multiThreaded && !caller.local.looking
	isNext := p.queue.pushFiber(f, byWorker)
	if p.idle.AnyIdle() && !(isNext && p.idle.Spinning() > 0) {
		p.idle.WakeOne()
	}
}

// next takes the first in the queue. A worker that has retired takes tasks again then: the entry may enqueue some.
func (p *roundRobin) next(w *Worker) (r runnable, ok bool) {
	if r, ok = p.queue.pop(); ok {
		p.queue.reopen(w)
	}
	return r, ok
}

// nextFiber implements migration.
func (p *roundRobin) nextFiber(w *Worker, past bool) *Fiber {
	f := p.queue.popFiber(past)
	if f != nil {
		p.queue.reopen(w)
	}
	return f
}

func (p *roundRobin) shared() int                 { return p.queue.waiting() }
func (p *roundRobin) leaves(*Worker) bool         { return p.queue.leaves() }
func (p *roundRobin) retire(w *Worker) bool       { return p.queue.retire(w) }
func (p *roundRobin) reopen(w *Worker)            { p.queue.reopen(w) }
func (p *roundRobin) wakeOther(*Worker)           { p.idle.WakeOne() }
func (p *roundRobin) has(*Worker) bool            { return !p.queue.empty() }
func (p *roundRobin) pending(*Worker) int         { return 0 }
func (p *roundRobin) seek(w *Worker, _ bool) bool { return p.has(w) && !p.leaves(w) }

// found passes a wake-up on for what is left: w takes one thing at a time.
func (p *roundRobin) found(w *Worker) {
	if p.shared() > 1 || w.hasLocal() && p.has(w) {
		p.idle.WakeOne()
	}
}
