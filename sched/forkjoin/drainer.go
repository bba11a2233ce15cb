package forkjoin

import (
	"errors"
	"sync/atomic"

	"golang.org/x/sys/cpu"

	"fiberlab/fiber"
	"fiberlab/sched"
)

// Drainers run the jobs whose results no caller has asked for yet. A drainer is a task of the scheduler. It takes jobs from the pool until it finds
// none, and ends. There are as many as the scheduler has workers, less the workers that run tasks of the pool anyway.
//
// No job is left behind:
//
//	submit:   queue the job,        then look at active: below the limit, start a drainer
//	drainer:  find no job, active--, then look whether a job waits: if one does, start a drainer
//
// Both first write and then read, so one of them sees what the other has written. A strand that parks or ends does the same as a
// drainer that ends.

// load counts the strands that run on the workers of one scheduling group, and the drainers that have been started there. There may be
// workers in one group that have nothing to do while those of another group are busy, and groups need not steal from one another.
type load struct {
	group  int   // its number; -1: the goroutines that are bound
	limit  int64 // how many workers there are
	drain  sched.Task
	_      cpu.CacheLinePad
	active atomic.Int64
	_      cpu.CacheLinePad
}

func (p *shared) setLoads() {
	for _, g := range p.scheduler.Stats().Groups {
		p.loads = append(p.loads, &load{group: g.Group, limit: int64(g.Workers)})
	}
	switch workers := p.scheduler.Workers(); {
	case workers == 0:
		p.loads = []*load{{group: -1, limit: 1}}
	case len(p.loads) == 0:
		p.loads = []*load{{limit: int64(workers)}}
	}
	for _, l := range p.loads {
		l.drain = sched.Task{Func: func() { p.drain(l) }, Flags: sched.Helper, Name: "forkjoin"}
	}
}

// loadOf returns where a strand on f counts: nil if f runs on no worker of the scheduler, or is bound although there are others.
func (p *shared) loadOf(f *sched.Fiber) *load {
	if f == nil || sched.Get() != p.scheduler {
		return nil
	}
	group := f.Worker().Group()
	if group < 0 && p.loads[0].group < 0 {
		return p.loads[0]
	}
	if group < 0 {
		return nil
	}
	return p.loads[group]
}

// add counts a strand, unless l is nil.
func (l *load) add() {
	if l != nil {
		l.active.Add(1)
	}
}

// claim counts one more, unless there are as many as workers.
func (l *load) claim() bool {
	for {
		n := l.active.Load()
		if n >= l.limit {
			return false
		}
		if l.active.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// start starts a drainer if there are fewer active strands than workers. It does not block.
func (p *shared) start() {
	for _, l := range p.loads {
		if l.claim() {
			p.startDrainer(l)
			return
		}
	}
}

// startDrainer has a drainer begin that has been counted. If the scheduler does not accept it, it runs on a goroutine.
func (p *shared) startDrainer(l *load) {
	p.running.Add(1)
	enqueue, try := p.scheduler.Enqueue, p.scheduler.TryEnqueue
	if len(p.loads) > 1 {
		enqueue = func(t sched.Task) error { return p.scheduler.EnqueueInGroup(l.group, t) }
		try = func(t sched.Task) error { return p.scheduler.TryEnqueueInGroup(l.group, t) }
	}
	switch err := try(l.drain); {
	case errors.Is(err, sched.ErrFull):
		go func() {
			err := enqueue(l.drain)
			for errors.Is(err, sched.ErrOverload) { // a drainer waits for room as long as that takes
				err = enqueue(l.drain)
			}
			if err != nil {
				p.drain(l)
			}
		}()
	case err != nil: // it is closed, or has no workers and the caller is not bound to it
		go p.drain(l)
	}
}

// drain is what a drainer does, which is counted in l.
func (p *shared) drain(l *load) {
	s := p.begin(fiber.Self())
	s.load = l
	p.drainers.Add(1)
	defer s.leave()
	for j := p.form.next(s); j != nil; j = p.form.next(s) {
		if s.hooked {
			s.begin(j, &p.stolen)
		} else {
			s.beginUncounted(j)
		}
	}
}

// beginUncounted is begin on a goroutine. It does not count meanwhile, as nothing tells when a goroutine waits: another one may be
// needed to run what it waits for.
func (s *strand) beginUncounted(j *job) {
	l := s.load
	s.load = nil // before j runs: it may call Goexit
	s.pool.deactivate(l)
	s.begin(j, &s.pool.stolen)
	l.add()
	s.load = l
}

// surplus tells whether more strands are active than there are workers, so that a drainer should end. That is so when strands that had
// parked go on.
func (s *strand) surplus() bool { return s.load != nil && s.load.active.Load() > s.load.limit }

// wanted tells whether there are fewer active strands than workers.
func (p *shared) wanted() bool {
	for _, l := range p.loads {
		if l.active.Load() < l.limit {
			return true
		}
	}
	return false
}

// deactivate says that a strand is active no more, which was counted in l, unless that is nil.
func (p *shared) deactivate(l *load) {
	if l != nil {
		l.active.Add(-1)
		p.form.fewer()
	}
	if p.form.waiting() {
		p.start()
	}
}

// gone says that a strand has ended.
func (p *shared) gone() {
	if p.running.Add(-1) == 0 && p.closed.Load() {
		p.ended.Signal()
	}
}
