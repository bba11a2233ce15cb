package forkjoin

import (
	"fiberlab/sched/fibersync"
	"fiberlab/sched/park"
)

// comesFromOutside tells whether the caller is a goroutine that runs no task of the pool, though the pool has workers. What it calls had better run as a task: there
// it can wait for what it forks, and leaves the processors to the workers.
func (p *Pool) comesFromOutside() bool {
	return p.ownStrand() == nil && p.of.scheduler.Workers() > 0 && park.Current() == nil
}

// asTask calls f as a task of the scheduler, and blocks the caller until f has returned. If the scheduler accepts no task, it calls f on the caller.
func (p *shared) asTask(f func()) {
	if fibersync.On(p.scheduler, f) == nil {
		return
	}
	s, made := p.root.enter()
	if made {
		defer s.leave()
	}
	f()
}
