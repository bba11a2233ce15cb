package forkjoin

import (
	"errors"

	"fiberlab/fiber"
	"fiberlab/sched"
)

// Who runs jobs that nobody has asked for yet. A drainer is a task of the scheduler. It takes jobs from the pool until it finds
// none, and ends. There are as many as the scheduler has workers, less those that run tasks of the pool anyway.
//
// No job is left behind:
//
//	submit:  queue the job,        then look at active: below the limit, start a drainer
//	drainer:  find no job, active--, then look whether a job waits: if one does, start a drainer
//
// Both first write and then read, so one of them sees what the other has written. A strand that parks or ends does the same as a
// drainer that ends.

// start starts a drainer if fewer strands are active than there are workers. It does not block.
func (p *shared) start() {
	for {
		n := p.active.Load()
		if n >= p.limit {
			return
		}
		if p.active.CompareAndSwap(n, n+1) {
			break
		}
	}
	p.running.Add(1)
	task := sched.Task{Func: p.run, Name: "forkjoin"}
	switch err := p.scheduler.TryEnqueue(task); {
	case errors.Is(err, sched.ErrFull):
		go func() {
			if p.scheduler.Enqueue(task) != nil {
				p.run()
			}
		}()
	case err != nil: // it is closed, or has no workers and the caller is not bound to it
		go p.run()
	}
}

// run is what a drainer does.
func (p *shared) run() {
	s := p.begin(fiber.Self())
	s.counted = true
	p.drainers.Add(1)
	defer s.leave()
	for j := p.form.next(s); j != nil; j = p.form.next(s) {
		if s.hooked {
			s.begin(j)
		} else {
			s.beginUncounted(j)
		}
	}
}

// beginUncounted is begin on a goroutine. It does not count meanwhile, as nothing tells when a goroutine waits: another one may be
// needed to run what it waits for.
func (s *strand) beginUncounted(j *job) {
	s.counted = false // before j runs: it may call Goexit
	s.pool.deactivate()
	s.begin(j)
	s.pool.active.Add(1)
	s.counted = true
}

// surplus tells whether more strands are active than there are workers, so that a drainer should end. That is so when strands that had
// parked go on.
func (p *shared) surplus() bool { return p.active.Load() > p.limit }

// deactivate says that a strand is active no more.
func (p *shared) deactivate() {
	p.active.Add(-1)
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
