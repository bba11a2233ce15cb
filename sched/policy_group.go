package sched

import (
	"sync/atomic"
	"time"

	"fiberlab/internal/clock"
	"fiberlab/internal/histogram"

	"golang.org/x/sys/cpu"
)

// groups is the policy of scheduling groups, flare's: it divides the workers into groups, each of which sees to itself.
// See group.
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
func (p *groups) submit(t job, caller *Worker) bool {
	r := runnable{task: t}
	if caller != nil && caller.mode == multiThreaded {
		g, i := p.of(caller)
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
func (p *groups) submitTo(number int, t job, caller *Worker) bool {
	to, from := p.all[number], -1
	if caller != nil && caller.mode == multiThreaded {
		if g, i := p.of(caller); g == to {
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

// submit queues a task and wakes a worker. from is the number in the group of the worker that the caller runs on, or
// -1. It returns false if no worker of the group takes tasks any more. A caller's worker does: Close may have made it
// retire just after it had taken what it runs, and is about to find that out.
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

// next takes what worker i runs next: from the shared queue or from its private one, whichever the round says, and else
// from the other.
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

// seek brings worker i something from where only other workers look: from a private queue of the group or, at times,
// from another group. It reports whether there is anything to take now. Before the worker sleeps, last is true.
func (g *group) seek(i int, last bool) bool {
	m := g.members[i]
	found := g.has(i) || g.takeOver(i) || g.steal(i, last)
	m.foundLast = found && last
	return found
}

// takeOver moves the first of another worker's private queue to that of worker i. It counts that first: once it lies
// there, another worker may take it over and run it to its end.
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

// endSleep says that worker i sleeps no more. If its last look had found something, and it was claimed at the same
// time, perhaps for something else, the wake is passed on.
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
	if !g.has(i) || w.hasLocal() || !w.mayBegin() {
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

// waiting is how many things wait in the queues of the group, as far as worker i cares: whether there are more than
// one. It looks into its private queue and the shared one first.
func (g *group) waiting(i int) int {
	n := g.shared.waiting()
	for k := 0; k < len(g.members) && n < 2; k++ {
		n += g.members[(i+k)%len(g.members)].private.waiting()
	}
	return n
}

// retire makes worker i take no more tasks, unless some wait for it. It reports whether it did.
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

// GroupStats counts what the workers of one scheduling group have done.
type GroupStats struct {
	Group   int    // its number
	Workers int    // how many it has
	Done    uint64 // tasks that have ended on them

	// What became of the wake-ups that the group's queues asked for.
	NoWorker uint64 // all workers were busy: the next that is free will look
	Spinners uint64 // a worker that spun was told
	Sleepers uint64 // a worker that slept was woken

	Wake  Latency // from the claim of a worker that sleeps until it runs
	Ready Latency // how long what is ready waits in a queue, of each 64th entry

	Shared  QueueStats // the queue that the group shares
	Private QueueStats // the workers' private queues together; of Greatest, the longest one

	StolenWithin uint64 // tasks and fibers that a worker has taken over from another worker's private queue
	StolenAcross uint64 // tasks and fibers that have been stolen from other groups
}

// Latency tells how long something takes. The median and the 99th percentile are at most an eighth too long.
type Latency struct {
	Count                 uint64 // how often it was measured
	Median, P99, Greatest time.Duration
}

// QueueStats is how many entries a queue has, and has had at most.
type QueueStats struct {
	Length, Greatest int
}

// stats reads what g has counted. Nothing stops meanwhile: the counts may be of slightly different moments.
func (g *group) stats(number int) GroupStats {
	s := GroupStats{
		Group: number, Workers: len(g.workers),
		NoWorker: g.wakes.none.Load(), Spinners: g.wakes.spinner.Load(), Sleepers: g.wakes.sleeper.Load(),
	}
	var wake, ready histogram.Sum
	wake.Add(&g.wakes.latency)
	s.Shared.add(g.shared, &ready)
	for i, m := range g.members {
		s.Private.add(m.private, &ready)
		s.StolenWithin += m.within.load()
		s.StolenAcross += m.across.load()
		s.Done += g.workers[i].tasksDone.load()
	}
	s.Wake, s.Ready = latencyOf(&wake), latencyOf(&ready)
	return s
}

// add adds the entries of one more queue, and how long they have waited.
func (s *QueueStats) add(q *runQueue, ready *histogram.Sum) {
	s.Length += q.waiting()
	s.Greatest = max(s.Greatest, int(q.longest.Load()))
	ready.Add(q.latency)
}

func latencyOf(s *histogram.Sum) Latency {
	return Latency{Count: s.Count(), Median: s.Quantile(0.5), P99: s.Quantile(0.99), Greatest: s.Longest()}
}
