package sched

import (
	"sync/atomic"

	"fiberlab/internal/idle"

	"golang.org/x/sys/cpu"
)

// groups implements policy Group, as in flare: it divides the workers into groups. The workers of a group share a
// queue, and each worker has a private one. Fibers migrate between workers. See member for the steps of a worker.
type groups struct {
	all     []*group
	members []*member // by worker

	_       [2]cpu.CacheLinePad // the next one is written at each task from outside
	arrived atomic.Uint64       // how many tasks have come from outside
	_       [2]cpu.CacheLinePad
}

// group is a scheduling group: up to 64 workers, consecutive ones.
type group struct {
	idle    *idle.Set // in which the workers have their numbers in the group
	shared  *runQueue
	workers []*Worker
	members []*member // by worker
	cfg     *Groups
	number  int
	thieves []*group // the groups that steal from this one

	called atomic.Bool // a worker has been claimed for what waits in another group, see wakeThief

	_    [2]cpu.CacheLinePad // submitters write the next one, and workers read the others at each task
	none atomic.Uint64       // wake-ups that found all workers busy; see GroupStats
	_    [2]cpu.CacheLinePad
}

// member is a worker as its group sees it. Only the worker calls its methods, but any thread may call pushPrivate.
type member struct {
	group   *group
	worker  *Worker
	private *runQueue

	looks   int  // how often it has looked at the queues in this round
	brought bool // it has queued a fiber without waking another worker
	misses  int  // how often it has found nothing in its own group
	victims []victim

	within, across counter // taken over from other workers of the group, and stolen from other groups
}

func newGroups(workers []*Worker, cfg Groups) *groups {
	p := &groups{}
	for first := 0; first < len(workers); first += cfg.Size {
		g := &group{cfg: &cfg, number: len(p.all), shared: new(runQueue)}
		g.workers = workers[first:min(first+cfg.Size, len(workers))]
		g.idle = newIdleSet(g.workers, max(cfg.Spinners, 0))
		arena := workers[0].scheduler.newArena(target{inGroup, g.number})
		for _, w := range g.workers {
			w.arena = arena // its tasks start others in this group, so other groups need not steal them
			g.members = append(g.members, &member{group: g, worker: w, private: new(runQueue)})
		}
		p.all = append(p.all, g)
		p.members = append(p.members, g.members...)
	}
	for _, g := range p.all {
		for _, from := range p.all {
			if g != from {
				g.stealFrom(from, cfg.StealEvery(g.number, from.number))
			}
		}
	}
	return p
}

// stealFrom adds other to the victims of each worker of g, and g to the thieves of other, unless every is below 1.
func (g *group) stealFrom(other *group, every int) {
	if every <= 0 {
		return
	}
	for _, m := range g.members {
		m.victims = append(m.victims, victim{from: other, every: every})
	}
	other.thieves = append(other.thieves, g)
}

// of returns the member that the caller's worker is, or nil if the caller runs on no multi-threaded worker.
func (p *groups) of(caller *Worker) *member {
	if caller == nil || caller.mode != multiThreaded {
		return nil
	}
	return p.members[caller.id]
}

// submit implements policy. It queues a task in the group of caller. If caller is in no group, submit goes round the
// workers and takes the group of the next one: so each group gets a share by its size.
func (p *groups) submit(t runnable, caller *Worker) bool {
	if m := p.of(caller); m != nil {
		return m.group.submit(t, m)
	}
	if len(p.all) == 1 {
		return p.all[0].submit(t, nil)
	}
	return p.members[p.arrived.Add(1)%uint64(len(p.members))].group.submit(t, nil)
}

// submitTo is submit to the group of that number, as for a caller from outside unless caller is in that group.
func (p *groups) submitTo(number int, t runnable, caller *Worker) bool {
	to, from := p.all[number], p.of(caller)
	if from != nil && from.group != to {
		from = nil
	}
	return to.submit(t, from)
}

// ready implements migration. It queues f in the group of the worker that ran it last; in AffinityMode for that worker.
// A caller of this group that looks for work uses the shared queue, and wakes no worker: it takes an entry.
func (p *groups) ready(f *Fiber, caller *Worker) {
	last, from := p.members[f.worker.Load().id], p.of(caller)
	g := last.group
	switch {
	case from != nil && from.group == g && caller.local.looking:
		caller.local.looking = false // it takes one
		g.shared.push(ofFiber(f), true)
		from.brought = true
	case g.cfg.Mode == AffinityMode:
		last.pushPrivate(ofFiber(f))
	default:
		g.submit(ofFiber(f), nil)
	}
}

func (p *groups) pending(w *Worker) (n int) {
	if w != nil {
		return p.members[w.id].group.waiting() // other entries wait for workers of their groups
	}
	for _, g := range p.all {
		n += g.waiting()
	}
	return n
}

func (p *groups) setClosed(closed bool) {
	for _, g := range p.all {
		g.shared.setClosed(closed)
	}
}

// These implement policy and migration by the steps of w in its group; see member.

func (p *groups) wakeOther(w *Worker)                   { p.members[w.id].group.wakeAny() }
func (p *groups) next(w *Worker) (runnable, bool)       { return p.members[w.id].next() }
func (p *groups) nextFiber(w *Worker, past bool) *Fiber { return p.members[w.id].nextFiber(past) }
func (p *groups) has(w *Worker) bool                    { return p.members[w.id].has() }
func (p *groups) seek(w *Worker, last bool) bool        { return p.members[w.id].seek(last) }
func (p *groups) found(w *Worker)                       { p.members[w.id].found() }

// submit queues r and wakes a worker. from is the caller's worker if that is in g, else nil; in AffinityMode r goes to
// its private queue. submit returns false if r is a task, from is nil, and the shared queue is closed.
func (g *group) submit(r runnable, from *member) bool {
	if from != nil && g.cfg.Mode == AffinityMode {
		from.pushPrivate(r)
		return true
	}
	local := r.groupLocal() // a fiber that is queued may run at once, and end
	if !g.shared.push(r, from != nil) {
		return false
	}
	g.wakeFor(local)
	return true
}

// pushPrivate queues r for this worker and wakes it or, if it is busy, another of the group. Any thread may call it.
func (m *member) pushPrivate(r runnable) {
	m.private.push(r, true)
	if !m.group.idle.WakeThat(m.worker.number) {
		m.group.wakeFor(true)
	}
}

// inTurn returns the queues in the order in which the worker looks at them now. The group's mode says which one is
// first; in one look of each round the other one is first.
func (m *member) inTurn() (first, second *runQueue) {
	if (m.looks == round-1) != (m.group.cfg.Mode == AffinityMode) {
		return m.private, m.group.shared
	}
	return m.group.shared, m.private
}

// next takes what the worker runs next, from one queue or else from the other.
func (m *member) next() (r runnable, ok bool) {
	first, second := m.inTurn()
	m.looks = (m.looks + 1) % round
	if r, ok = first.pop(); !ok {
		r, ok = second.pop()
	}
	if ok {
		m.took(r)
	}
	return r, ok
}

// nextFiber is next for a worker that takes a fiber or nothing; see migration. If the first queue begins with a task,
// the second one is left alone, unless past is true. Only what is taken counts as a look of the round.
func (m *member) nextFiber(past bool) *Fiber {
	first, second := m.inTurn()
	f := first.popFiber(past)
	if f == nil && (past || first.empty()) {
		f = second.popFiber(past)
	}
	if f != nil {
		m.looks = (m.looks + 1) % round
		m.took(ofFiber(f))
	}
	return f
}

// took says that the worker has taken r. If thieves could not steal what waited behind r, took wakes one of them.
func (m *member) took(r runnable) {
	if g := m.group; len(g.thieves) > 0 && r.groupLocal() && g.shared.offers() {
		g.wakeThief() // what waited behind r was refused to thieves until now
	}
}

// has reports whether next would find something.
func (m *member) has() bool { return !m.group.shared.empty() || !m.private.empty() }

// seek brings the worker something from where only other workers look: from a private queue of the group or, at times,
// from another group. It reports whether there is anything to take now. Before the worker sleeps, last is true.
func (m *member) seek(last bool) bool {
	if !last {
		m.group.idle.Serve() // this worker spins, and may have to wake another one
	}
	return m.has() || m.takeOver() || m.steal(last)
}

// takeOver moves an entry from another worker's private queue to this worker's, and reports whether it found one. It
// first counts the entry: once that is queued here, another worker may take it over and run it to its end.
func (m *member) takeOver() bool {
	all := m.group.members
	for n := 1; n < len(all); n++ {
		if r, ok := all[(m.worker.number+n)%len(all)].private.pop(); ok {
			m.countTaken(&m.within, all[(m.worker.number+n)%len(all)].worker.String())
			m.private.push(r, true)
			return true
		}
	}
	return false
}

// steal brings an entry from another group, and reports whether it found one. It looks at victims whose turn has come;
// if last is true, at every victim. It first counts the entry, as takeOver does. The worker may take another entry, and
// be busy for long. So steal puts it into the shared queue, from where others may take it.
func (m *member) steal(last bool) bool {
	m.misses++
	found := false
	for i := range m.victims {
		v := &m.victims[i]
		v.due = v.due || m.misses%v.every == 0
		if found || !last && !v.due {
			continue
		}
		var r runnable
		if r, found = v.from.shared.steal(); found {
			m.countTaken(&m.across, "another group")
			m.group.shared.push(r, true)
		}
		v.due = found
	}
	return found
}

// countTaken counts and records that the worker has taken an entry from another worker or group, whose name is from. It
// adds to the counter in, which is one of the member's, and to the worker's stolen.
func (m *member) countTaken(in *counter, from string) {
	in.add(1)
	m.worker.stolen.add(1)
	m.worker.recordEvent(Event{Kind: KindStole, Count: 1, Text: from})
}

// victim is another group. A worker looks at its shared queue when member.misses is a multiple of every; see steal.
type victim struct {
	from  *group
	every int  // its turn comes when member.misses is a multiple of this
	due   bool // its turn has come; or it had something in the last look, and perhaps has more
}

// found says that the worker has work after it had none.
//
// The worker may have been claimed for an entry that it will not take. It has other work, has spun and seen another
// entry, or has ended a wait itself (brought). That entry may wait in any queue of the group, and no other worker comes
// for it. Then, if more waits than the worker takes, found wakes another worker. Else a worker that has spun leaves the
// next wake-up to other spinners. If called is set, found wakes a worker for each victim that offers something.
func (m *member) found() {
	g, w := m.group, m.worker
	takes := 1
	if !m.has() || w.hasLocal() || w.short() {
		takes = 0
	}
	switch {
	case (takes == 0 || w.local.spun || m.brought) && g.waiting() > takes:
		g.wakeAny()
	case w.local.spun:
		g.idle.LeaveWake(m.worker.number)
	}
	m.brought = false
	if g.called.Load() && g.called.Swap(false) {
		for _, v := range m.victims {
			if v.from.shared.offers() {
				v.from.wakeAny()
			}
		}
	}
}

// waiting is how many entries wait in the queues of the group.
func (g *group) waiting() int {
	n := g.shared.waiting()
	for _, m := range g.members {
		n += m.private.waiting()
	}
	return n
}

// wakeFor wakes a worker for an entry that has just been queued. That is one of the group or, unless the entry is local
// to the group, one of a group that steals from it. If all of them are busy, it counts that in g.none.
func (g *group) wakeFor(local bool) {
	if !g.idle.WakeOne() && (local || !g.wakeThief()) {
		g.none.Add(1)
	}
}

// wakeAny wakes a worker of the group. If none is idle, and the shared queue has something to steal, it wakes one of a
// group that steals.
func (g *group) wakeAny() {
	if !g.idle.WakeOne() && len(g.thieves) > 0 && g.shared.offers() {
		g.wakeThief()
	}
}

// wakeThief wakes a worker of a group that steals from g, and reports whether one was idle. The worker may find
// something in its own group first. So wakeThief first sets called in the worker's group: see member.found.
//
// A submitter queues an entry, and then loads the masks of its own group and of the thieves. A thief sets its bit, and
// then looks at the queues of its own group and of the victims: as in idle.Set, no wake-up is lost.
func (g *group) wakeThief() bool {
	for _, thief := range g.thieves {
		if thief.idle.AnyIdle() {
			thief.called.Store(true)
			if thief.idle.WakeOne() {
				return true
			}
		}
	}
	return false
}
