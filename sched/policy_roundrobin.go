package sched

import "fiberlab/internal/idle"

// roundRobin is the plainest policy: one queue for all workers, of tasks and of fibers that are ready, in the order in
// which they came. So fibers migrate. An idle worker spins as long as that pays, then sleeps.
type roundRobin struct {
	idle  *idle.Set
	queue runQueue
}

func newRoundRobin(workers []*Worker) *roundRobin {
	return &roundRobin{idle: newIdleSet(workers, mostSpinning())}
}

func (p *roundRobin) submit(t runnable, caller *Worker) bool {
	pushed := p.queue.push(t, caller != nil && caller.mode == multiThreaded)
	if p.idle.AnyIdle() {
		p.idle.WakeOne()
	}
	return pushed
}

// ready implements migration.
func (p *roundRobin) ready(f *Fiber, caller *Worker) {
	if caller != nil && caller.mode == multiThreaded && caller.local.looking {
		caller.local.looking = false // it takes one
		p.queue.push(ofFiber(f), true)
		return
	}
	p.submit(ofFiber(f), caller)
}

// These implement policy and migration by the one queue, which is the same for all workers.

func (p *roundRobin) next(*Worker) (runnable, bool)         { return p.queue.pop() }
func (p *roundRobin) nextFiber(_ *Worker, past bool) *Fiber { return p.queue.popFiber(past) }
func (p *roundRobin) pending(*Worker) int                   { return p.queue.waiting() }
func (p *roundRobin) setClosed(closed bool)                 { p.queue.setClosed(closed) }
func (p *roundRobin) wakeOther(*Worker)                     { p.idle.WakeOne() }
func (p *roundRobin) has(*Worker) bool                      { return !p.queue.empty() }
func (p *roundRobin) seek(w *Worker, _ bool) bool           { return p.has(w) }

// found wakes another worker if more entries wait than w takes next: w takes one, or none if it has local work.
func (p *roundRobin) found(w *Worker) {
	if p.queue.waiting() > 1 || w.hasLocal() && p.has(w) {
		p.idle.WakeOne()
	}
}
