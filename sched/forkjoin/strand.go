package forkjoin

import (
	"sync/atomic"
	"time"

	"golang.org/x/sys/cpu"

	"fiberlab/fiber"
	"fiberlab/internal/clock"
	"fiberlab/internal/spinlock"
	"fiberlab/sched"
	"fiberlab/sched/park"
)

// strand is one stack that runs tasks of a pool: a fiber, or a goroutine. Nested tasks that are run in place share it.
// Only the code on that stack uses it, unless a field says more.
type strand struct {
	pool   *shared
	view   Pool            // what its tasks get
	self   atomic.Uintptr  // fiber.Self of its stack
	load   *load           // where it counts; nil: nowhere
	local  *any            // the fiber-local slot; nil: a goroutine has none
	hooked bool            // its fiber tells it when it blocks
	guest  bool            // its stack is a goroutine that runs no task of the pool, but the first half of a Join
	outer  sched.BlockHook // the one before, on the same fiber: of another pool, or of a coroutine's caller; nil: none
	waits  bool            // it waits, or is about to, for what another strand runs
	helped int             // how many tasks it runs inside one another, because a caller needed their results

	turn   clock.Instant                // when it last got its worker, or found that no other task needs that
	asked  clock.Instant                // when it last looked at the clock
	left   int                          // how many forks until it looks again
	yields atomic.Pointer[sched.Worker] // others go first on that worker; read by drainers
	every  int                          // how many forks there are between two looks

	fence  atomic.Uint64 // what the strand writes where it needs a fence
	fenced bool          // barrier needs fences in the strands

	forks forks // of Join, under Heartbeat

	own    deque[job] // under Deque
	behind int        // how many jobs may lie in own that the strand has claimed there

	stole bool  // of a drainer under Heartbeat: what it runs is another strand's fork
	watch watch // and this is what it knows of such forks

	spare []body // branches of Join to be used again

	_     cpu.CacheLinePad
	mu    spinlock.Lock // for lists, and for what thieves take from them
	lists []list        // forks, and those of the typed strands on this stack, the outermost first
	index int           // its place in shared.atWork, under the lock of that
}

// enter returns the strand of the caller's stack. If there is none, it makes one, and says so: then the caller calls
// leave when it is through. The caller's stack stays the same until then. enter panics with an error that wraps
// ErrClosed if the pool is closed and the caller is none of its tasks.
func (p *Pool) enter() (s *strand, made bool) {
	if s = p.ownStrand(); s != nil {
		return s, false
	}
	if err := p.of.admit(); err != nil {
		panic(err)
	}
	return p.of.newStrand(), true
}

// mustBeMade panics unless p comes from New, or is a task's.
func (p *Pool) mustBeMade() {
	if p == nil || p.of == nil {
		panic(notMade("Pool"))
	}
}

// newStrand makes the strand of the caller's stack, which has none. The caller has been admitted.
func (p *shared) newStrand() *strand {
	s := p.begin(fiber.Self())
	s.guest = p.isOutside()
	s.load = p.loadOf(sched.Current())
	s.load.add(1)
	return s
}

// begin makes the strand of the caller's stack.
func (p *shared) begin(self uintptr) *strand {
	s, ok := p.unused.Get().(*strand)
	if !ok {
		s = &strand{pool: p}
		s.view = Pool{of: p, strand: s}
		s.forks.strand, s.fenced = s, !hasBarrier()
		s.lists = append(s.lists, &s.forks)
	}
	s.self.Store(self)
	s.local = park.LocalSlot()
	if f := sched.Current(); f != nil {
		s.hooked, s.outer = true, f.OnBlock(s)
	}
	s.turn, s.every, s.left = clock.Now(), 1, 1
	s.watch = watch{beat: clock.Instant(p.cfg.Beat)}
	s.asked = s.turn
	p.strands.Store(self, s)
	p.atWork.add(s)
	return s
}

// leave ends the strand.
func (s *strand) leave() {
	p := s.pool
	p.form.publish(s)
	p.atWork.remove(s)
	p.strands.Delete(s.self.Load())
	s.self.Store(0)
	if s.hooked {
		s.unhook()
	}
	l := s.load
	s.load, s.guest = nil, false
	p.unused.Put(s)
	p.deactivate(l, false)
	p.gone()
}

// unhook takes s out of the hooks of its fiber. Some may have come after it: strands of coroutines (iter.Pull) that the
// fiber has called.
func (s *strand) unhook() {
	f := sched.Current()
	if later, ok := f.OnBlock(s.outer).(*strand); ok && later != s {
		f.OnBlock(later)
		for ok && later.outer != sched.BlockHook(s) {
			later, ok = later.outer.(*strand)
		}
		if ok {
			later.outer = s.outer
		}
	}
	s.hooked, s.outer = false, nil
}

// BeforeBlock implements sched.BlockHook. Other strands get its forks, and one may take its place.
func (s *strand) BeforeBlock() {
	if s.outer != nil {
		s.outer.BeforeBlock()
	}
	s.pool.form.publish(s)
	s.pool.atWork.remove(s)
	s.pool.deactivate(s.load, s.waits)
}

// AfterBlock implements sched.BlockHook.
func (s *strand) AfterBlock() {
	if s.outer != nil {
		s.outer.AfterBlock()
	}
	s.pool.atWork.add(s)
	if s.load != nil {
		s.load = s.pool.loadOf(sched.Current()) // it may have come to another group
		s.load.add(1)
	}
	s.turn = clock.Now()
}

// turnTime is how long a strand keeps its worker while other tasks need that.
const turnTime = clock.Instant(100 * time.Microsecond)

// mostForks is how many forks there are at most between two looks at the clock: they may become longer at any time.
const mostForks = 128

// spendTurn is called at a fork when s.left has come down to 0. If the strand has had its worker for turnTime, and
// other tasks need that, these go first. It sets s.left so that turnTime passes until the next call, if forks take
// as long as those before.
func (s *strand) spendTurn() {
	now := clock.Now()
	switch took := now - s.asked; {
	case took < turnTime/4:
		s.every = min(2*s.every, mostForks)
	case took > turnTime:
		s.every = max(int(clock.Instant(s.every)*turnTime/took), 1)
	}
	s.asked, s.left = now, s.every
	if !s.hooked || now-s.turn < turnTime || sched.Current() == nil {
		return
	}
	s.yields.Store(sched.Current().Worker())
	sched.Yield() // other workers can take the forks of the strand
	s.yields.Store(nil)
	s.turn = clock.Now()
	s.asked = s.turn
}

// begin runs a job that the strand has claimed, and counts that, unless the pool is closed and does not want it any
// more.
func (s *strand) begin(j *job, count *atomic.Uint64) {
	if s.pool.closed.Load() && !j.inside {
		j.body.drop(ErrClosed)
		return
	}
	count.Add(1)
	j.body.run(s)
}

// ownStrand returns the strand of the caller's stack, or nil if there is none.
func (p *Pool) ownStrand() *strand {
	p.mustBeMade()
	self := fiber.Self()
	if s := p.strand; s != nil && s.self.Load() == self {
		return s
	}
	if s, ok := p.of.strands.Load(self); ok {
		return s.(*strand)
	}
	return nil
}

// hideLocals takes the fiber-local values of the task that runs on the strand away, before another task runs in
// its place. restoreLocals puts them back.
func (s *strand) hideLocals() (saved any) {
	if s.local != nil && *s.local != nil {
		saved, *s.local = *s.local, nil
	}
	return saved
}

func (s *strand) restoreLocals(saved any) {
	if s.local != nil && (saved != nil || *s.local != nil) {
		*s.local = saved
	}
}

// strandSet has the strands of a pool that have a stack and are not parked: other strands steal from these. The
// zero value is empty.
type strandSet struct {
	mu  spinlock.Lock
	all []*strand // each knows its index
}

func (t *strandSet) add(s *strand) {
	t.mu.Lock()
	s.index = len(t.all)
	t.all = append(t.all, s)
	t.mu.Unlock()
}

func (t *strandSet) len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.all)
}

func (t *strandSet) remove(s *strand) {
	t.mu.Lock()
	last := len(t.all) - 1
	t.all[s.index] = t.all[last]
	t.all[s.index].index = s.index
	t.all[last] = nil
	t.all = t.all[:last]
	t.mu.Unlock()
}

// others calls f for the strands without s, the first of which is chosen by first, until f returns true. It
// reports whether f did. The set may change during the call: f is called for each strand that stays in it.
func (t *strandSet) others(s *strand, first uint, f func(*strand) bool) bool {
	var few [16]*strand
	t.mu.Lock()
	all := append(few[:0], t.all...)
	t.mu.Unlock()
	for i := range uint(len(all)) {
		if other := all[(first+i)%uint(len(all))]; other != s && f(other) {
			return true
		}
	}
	return false
}
