package sched

import (
	"slices"
	"sync"

	"fiberlab/internal/clock"
	"fiberlab/internal/idle"
	"fiberlab/internal/queue"
	"fiberlab/internal/spinlock"
)

// roundRobin is the plainest policy: one queue for all workers, of tasks and of fibers that are ready, in the order in
// which they came, and one lock. So fibers migrate. An idle worker spins as long as that pays, then sleeps.
type roundRobin struct {
	workers []*Worker
	idle    *idle.Set

	mu    sync.Mutex
	queue queue.Queue[runnable]
	takes []bool // whether each worker takes tasks
}

func newRoundRobin(workers []*Worker) *roundRobin {
	return &roundRobin{
		workers: workers, idle: idle.NewSet(wordsOf(workers), mostSpinning(), nil),
		takes: slices.Repeat([]bool{true}, len(workers)),
	}
}

func (p *roundRobin) submit(t job, caller *Worker) bool { return p.push(runnable{task: t}, caller) }
func (p *roundRobin) ready(f *Fiber, _ *Worker)         { p.push(runnable{fiber: f}, nil) }

// push queues r, and wakes a worker. It refuses a task if no worker takes any; but the caller's own does, see
// group.submit.
func (p *roundRobin) push(r runnable, caller *Worker) bool {
	spinlock.LockMutex(&p.mu)
	taken := r.fiber != nil || caller != nil && caller.mode == multiThreaded || slices.Contains(p.takes, true)
	if taken {
		p.queue.Push(r)
	}
	p.mu.Unlock()
	p.idle.WakeOne()
	return taken
}

// next takes the first in the queue. A worker that has retired takes tasks again then: the entry may enqueue some.
func (p *roundRobin) next(w *Worker) (r runnable, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if ok = !p.queue.Empty(); ok {
		r = p.queue.Pop()
		p.takes[w.id] = true
	}
	return r, ok
}

// nextFiber implements migration.
func (p *roundRobin) nextFiber(w *Worker, past bool) *Fiber {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := popFiber(&p.queue, past)
	if f != nil {
		p.takes[w.id] = true
	}
	return f
}

func (p *roundRobin) shared() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.queue.Len()
}

func (p *roundRobin) eachGroup(f func([]*Worker, func())) { f(p.workers, func() { p.idle.WakeOne() }) }
func (p *roundRobin) wakeOther(*Worker)                   { p.idle.WakeOne() }
func (p *roundRobin) has(*Worker) bool                    { return p.shared() > 0 }
func (p *roundRobin) pending(*Worker) int                 { return 0 }
func (p *roundRobin) beginSpin(w *Worker) bool            { return p.idle.BeginSpin(w.id) }
func (p *roundRobin) endSpin(w *Worker)                   { p.idle.EndSpin(w.id) }
func (p *roundRobin) beginSleep(w *Worker)                { p.idle.BeginSleep(w.id) }
func (p *roundRobin) endSleep(w *Worker)                  { p.idle.EndSleep(w.id) }
func (p *roundRobin) seek(w *Worker, _ bool) bool         { return p.has(w) }
func (p *roundRobin) lookAgain(*Worker) clock.Instant     { return clock.Never }

// found passes a wake-up on for what is left: w takes one thing at a time.
func (p *roundRobin) found(w *Worker) {
	if p.shared() > 1 || w.hasLocal() && p.has(w) {
		p.idle.WakeOne()
	}
}

func (p *roundRobin) retire(w *Worker) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.queue.Empty() {
		p.takes[w.id] = false
	}
	return p.queue.Empty()
}

func (p *roundRobin) reopen(w *Worker) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.takes[w.id] = true
}
