package sched

import "sync/atomic"

// group is a scheduling group: up to 64 workers that share a run queue, and between which their fibers migrate.
type group struct {
	masks
	shared  *runQueue
	workers []*Worker
	members []*member // by worker
	cfg     *Groups
	number  int
	thieves []*group // the groups that steal from this one
}

// member is what a group has for each of its workers.
type member struct {
	private *runQueue
	retired atomic.Bool // it takes no tasks; changed with the lock of the shared queue's pushes held

	// Only the worker's thread uses these.
	looks     int  // taken from the queues so far, in rounds
	spun      bool // it has spun since it last had work
	brought   bool // it has queued a fiber without waking another worker
	foundLast bool // its last look before it would have slept found something
	victims   victims

	within, across counter // taken over from other workers of the group, and stolen from other groups
}

func newGroup(workers []*Worker, cfg *Groups) *group {
	g := &group{workers: workers, cfg: cfg}
	g.spinners = max(cfg.Spinners, 0)
	g.wake = func(i int) bool { return workers[i].driver.notify() }
	if workers[0].scheduler.cfg.Recorder != nil {
		g.woken = func(i int, asleep bool) { workers[i].record.woken(workers[i], asleep) }
	}
	g.shared = newRunQueue(len(workers))
	for _, w := range workers {
		m := &member{private: newRunQueue(1)}
		g.members = append(g.members, m)
		if d, ok := w.driver.(*slotDriver); ok {
			d.serve = g.serve
		}
	}
	return g
}

// submit queues a task and wakes a worker. from is the number in the group of the worker that the caller runs on, or -1. It
// returns false if no worker of the group takes tasks any more. A caller's worker does: Close may have made it retire just after it had taken
// what it runs, and is about to find that out.
func (g *group) submit(r runnable, from int) bool {
	if from >= 0 && g.cfg.Mode == AffinityMode {
		g.pushPrivate(from, r)
		return true
	}
	local := len(g.thieves) == 0 || r.groupLocal() // a fiber that is queued may run at once, and end
	if !g.shared.put(r, from >= 0) {
		return false
	}
	g.wakeFor(local)
	return true
}

// readyFor queues a fiber for worker i, which looks for something to run.
func (g *group) readyFor(f *Fiber, i int) {
	g.shared.push(runnable{fiber: f})
	g.members[i].brought = true
}

// pushPrivate queues r for one worker, and wakes it; or, if that is busy, another one, which will take r from there.
func (g *group) pushPrivate(to int, r runnable) {
	g.members[to].private.push(r)
	if !g.wakeThat(to) {
		g.wakeFor(true)
	}
}

// next takes what worker i runs next: from the shared queue or from its private one, whichever the round says, and else from the other.
func (g *group) next(i int) (r runnable, ok bool) {
	m := g.members[i]
	lastOfRound := m.looks == g.cfg.Round-1
	if m.looks++; lastOfRound {
		m.looks = 0
	}
	first, second := g.shared, m.private
	if lastOfRound != (g.cfg.Mode == AffinityMode) {
		first, second = second, first
	}
	if r, ok = first.pop(); !ok {
		r, ok = second.pop()
	}
	if ok && m.retired.Load() {
		g.reopen(i)
	}
	if len(g.thieves) > 0 && ok && r.groupLocal() {
		g.uncover()
	}
	return r, ok
}

// has reports whether next would find something.
func (g *group) has(i int) bool { return !g.shared.empty() || !g.members[i].private.empty() }

// seek brings worker i something from where only other workers look: from a private queue of the group or, at times, from
// another group. It reports whether there is anything to take now. Before the worker sleeps, last is true.
func (g *group) seek(i int, last bool) bool {
	m := g.members[i]
	found := g.has(i) || g.takeOver(i) || g.steal(i, last)
	m.foundLast = found && last
	return found
}

// takeOver moves the first of another worker's private queue to that of worker i. It counts that first: once it lies there, another worker may
// take it over and run it to its end.
func (g *group) takeOver(i int) bool {
	for n := 1; n < len(g.members); n++ {
		if r, ok := g.members[(i+n)%len(g.members)].private.pop(); ok {
			g.members[i].within.add(1)
			g.workers[i].stolen.add(1)
			g.members[i].private.push(r)
			return true
		}
	}
	return false
}

// endSleep says that worker i sleeps no more. If its last look had found something, and it was claimed at the same time, perhaps for
// something else, the wake is passed on.
func (g *group) endSleep(i int) {
	m := g.members[i]
	if claimed := g.masks.endSleep(i); claimed && m.foundLast {
		g.wakeAny()
	}
	m.foundLast = false
}

// found says that worker i has work after it had none.
//
// It may have been claimed for something that it will not take: it has other work, it had seen something else
// before, as it spun, or it has ended a wait itself. What it was
// claimed for may wait in any queue of the group, and no other worker comes for it. So if more waits than
// i takes, another worker is woken. If none is left over, spinners that remain see to what comes next. A worker that
// was claimed for what waits in another group passes that on too.
func (g *group) found(i int) {
	m, w := g.members[i], g.workers[i]
	takes := 1
	if !g.has(i) || w.hasOwn() || !w.mayBegin() {
		takes = 0
	}
	switch {
	case (takes == 0 || m.spun || m.brought) && g.waiting(i) > takes:
		g.wakeAny()
	case m.spun:
		g.leaveWake()
	}
	m.spun, m.brought = false, false
	if g.called.Load() && g.called.Swap(false) {
		m.victims.wake()
	}
}

// waiting is how many things wait in the queues of the group, as far as worker i cares: whether there are more than one. It looks into its
// private queue and the shared one first.
func (g *group) waiting(i int) int {
	n := g.shared.waiting()
	for k := 0; k < len(g.members) && n < 2; k++ {
		n += g.members[(i+k)%len(g.members)].private.waiting()
	}
	return n
}

// retire makes worker i take no more tasks, unless some wait for it. It tells whether it did.
func (g *group) retire(i int) bool {
	q, m := g.shared, g.members[i]
	q.pushing.Lock()
	defer q.pushing.Unlock()
	if q.waiting() > 0 || !m.private.empty() {
		return false
	}
	if !m.retired.Swap(true) {
		q.takers--
	}
	return true
}

// reopen takes retire back.
func (g *group) reopen(i int) {
	q, m := g.shared, g.members[i]
	q.pushing.Lock()
	defer q.pushing.Unlock()
	if m.retired.Swap(false) {
		q.takers++
	}
}
