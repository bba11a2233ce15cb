package forkjoin

import (
	"sync/atomic"

	"fiberlab/fiber"
	"fiberlab/sched"
	"fiberlab/sched/park"
)

// strand is one stack that runs tasks of a pool: a fiber, or a goroutine. Nested tasks that are run in place share it.
// Only the code on that stack uses it.
type strand struct {
	pool   *shared
	view   Pool            // what its tasks get
	self   atomic.Uintptr  // fiber.Self of its stack
	load   *load           // where it counts; nil: nowhere
	local  *any            // the fiber-local slot; nil: a goroutine has none
	hooked bool            // its fiber tells it when it blocks
	guest  bool            // its stack is a goroutine that runs no task of the pool, but the first half of a Join
	outer  sched.BlockHook // that of another pool, whose strand is on the same stack
	waits  bool            // it waits, or is about to, for what another strand runs
	helped int             // how many tasks it runs inside one another, because a caller needed their results

	beat  *uint32 // the word that says when to hand out a fork
	seen  uint32  // what beat was when that was last done
	forks forks   // of Join, under Heartbeat
	lists []list  // forks, and those of the typed strands on this stack, the outermost first

	own    deque[job]    // under Deque
	behind int           // how many jobs may lie in own that the strand has claimed there
	index  int           // its place in deques.strands
	fence  atomic.Uint64 // see deques.push

	spare []body // branches of Join to be used again
}

// enter returns the strand of the caller's stack. If there is none, it makes one, and says so: then the caller calls leave when
// it is through. The caller's stack stays the same meanwhile. enter panics with an error that wraps ErrClosed if the pool is closed and the
// caller is none of its tasks.
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
	s.load.add()
	return s
}

// begin makes the strand of the caller's stack.
func (p *shared) begin(self uintptr) *strand {
	s, ok := p.unused.Get().(*strand)
	if !ok {
		s = &strand{pool: p}
		s.view = Pool{of: p, strand: s}
		s.forks.strand = s
		s.lists = append(s.lists, &s.forks)
	}
	s.beat, s.seen = &always, 0
	s.self.Store(self)
	s.local = park.LocalSlot()
	if f := sched.Current(); f != nil {
		s.hooked, s.outer = true, f.OnBlock(s)
	}
	p.strands.Store(self, s)
	p.form.enter(s)
	return s
}

// leave ends the strand.
func (s *strand) leave() {
	p := s.pool
	p.form.leave(s)
	p.strands.Delete(s.self.Load())
	s.self.Store(0)
	if s.hooked {
		sched.Current().OnBlock(s.outer)
		s.hooked, s.outer = false, nil
	}
	l := s.load
	s.load, s.guest = nil, false
	p.unused.Put(s)
	p.deactivate(l)
	p.gone()
}

// BeforeBlock implements sched.BlockHook. What the strand alone can reach must be within the reach of others meanwhile, and another
// strand may take its place.
func (s *strand) BeforeBlock() {
	if s.outer != nil {
		s.outer.BeforeBlock()
	}
	s.pool.form.leave(s)
	s.pool.deactivate(s.load)
	if s.waits {
		s.pool.form.replace()
	}
}

// AfterBlock implements sched.BlockHook.
func (s *strand) AfterBlock() {
	if s.outer != nil {
		s.outer.AfterBlock()
	}
	s.pool.form.enter(s)
	if s.load != nil {
		s.load = s.pool.loadOf(sched.Current()) // it may have come to another group
		s.load.add()
	}
}

// begin runs a job that the strand has claimed, and counts that, unless the pool is closed and does not want it any more.
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

// hideLocals takes the fiber-local values of the task that runs on the strand away, before another task runs in its place. restoreLocals
// puts them back.
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
