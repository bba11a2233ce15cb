package sched

import (
	"sync/atomic"

	"golang.org/x/sys/cpu"

	"fiberlab/internal/clock"
)

// groups is the policy of scheduling groups, flare's: it divides the workers into groups, each of which sees to itself. See
// group.
type groups struct {
	size        int
	all         []*group
	memberships []membership // by worker

	_    [2]cpu.CacheLinePad // the next one is written at each task from outside
	turn atomic.Uint64       // how many tasks, or batches, have come from outside
	_    [2]cpu.CacheLinePad
}

// membership is where a worker belongs: its group, and its number in it.
type membership struct {
	group  *group
	number int
}

func newGroups(workers []*Worker, cfg Groups) *groups {
	p := &groups{size: cfg.Size}
	for first := 0; first < len(workers); first += cfg.Size {
		g := newGroup(workers[first:min(first+cfg.Size, len(workers))], &cfg)
		g.number = len(p.all)
		p.all = append(p.all, g)
		for i := range g.workers {
			p.memberships = append(p.memberships, membership{g, i})
		}
	}
	stealEvery := cfg.StealEvery
	if stealEvery == nil {
		stealEvery = func(int, int) int { return DefaultStealEvery }
	}
	for thief, g := range p.all {
		for victim, from := range p.all {
			if thief == victim {
				continue
			}
			if every := stealEvery(thief, victim); every > 0 {
				g.addVictim(from, every)
			}
		}
	}
	return p
}

// of returns the group of a multi-threaded worker, and the worker's number in it.
func (p *groups) of(w *Worker) (*group, int) {
	at := &p.memberships[w.id]
	return at.group, at.number
}

// nextInTurn is the number of the group that gets the next task from outside. It goes round the workers, so that each
// group gets a share by its size.
func (p *groups) nextInTurn() int {
	if len(p.all) == 1 {
		return 0
	}
	return p.memberships[p.turn.Add(1)%uint64(len(p.memberships))].group.number
}

// submit queues a task in the caller's group; for a caller outside of all of them, in the groups by their sizes.
func (p *groups) submit(t job, own *Worker) bool {
	r := runnable{task: t}
	if own != nil && own.mode == multiThreaded {
		g, i := p.of(own)
		return g.submit(r, i)
	}
	first := p.nextInTurn()
	for i := range p.all {
		if p.all[(first+i)%len(p.all)].submit(r, -1) {
			return true
		}
	}
	return false
}

// submitTo is submit to the group of that number.
func (p *groups) submitTo(number int, t job, own *Worker) bool {
	to, from := p.all[number], -1
	if own != nil && own.mode == multiThreaded {
		if g, i := p.of(own); g == to {
			from = i
		}
	}
	return to.submit(runnable{task: t}, from)
}

// ready queues a fiber in the group whose worker has run it last.
func (p *groups) ready(f *Fiber, looking *Worker) {
	g, i := p.of(f.worker.Load())
	if looking != nil {
		_, i = p.of(looking)
		g.readyFor(f, i)
		return
	}
	g.submit(runnable{fiber: f}, i)
}

func (p *groups) eachGroup(f func([]*Worker, func())) {
	for _, g := range p.all {
		f(g.workers, func() { g.wakeOne() })
	}
}

func (p *groups) wakeOther(w *Worker) {
	g, _ := p.of(w)
	g.wakeAny()
}

func (p *groups) next(w *Worker) (runnable, bool) {
	g, i := p.of(w)
	return g.next(i)
}

func (p *groups) has(w *Worker) bool {
	g, i := p.of(w)
	return g.has(i)
}

func (p *groups) pending(w *Worker) int {
	g, i := p.of(w)
	return g.members[i].private.waiting()
}

func (p *groups) shared() (n int) {
	for _, g := range p.all {
		n += g.shared.waiting()
	}
	return n
}

func (p *groups) beginSpin(w *Worker) bool {
	g, i := p.of(w)
	spins := g.beginSpin(i)
	g.members[i].spun = spins
	return spins
}

func (p *groups) endSpin(w *Worker) {
	g, i := p.of(w)
	g.endSpin(i)
}

func (p *groups) seek(w *Worker, last bool) bool {
	g, i := p.of(w)
	return g.seek(i, last)
}

func (p *groups) beginSleep(w *Worker) {
	g, i := p.of(w)
	g.members[i].spun = false
	g.beginSleep(i)
}

func (p *groups) endSleep(w *Worker) {
	g, i := p.of(w)
	g.endSleep(i)
}

// lookAgain is never: whatever comes to a group wakes a worker of it.
func (p *groups) lookAgain(*Worker) clock.Instant { return clock.Never }

func (p *groups) found(w *Worker) {
	g, i := p.of(w)
	g.found(i)
}

func (p *groups) retire(w *Worker) bool {
	g, i := p.of(w)
	return g.retire(i)
}

func (p *groups) reopen(w *Worker) {
	g, i := p.of(w)
	g.reopen(i)
}
