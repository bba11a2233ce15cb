package sched

import (
	"context"

	"fiberlab/sched/park"
)

// setArenas gives each multi-threaded worker its arena: that of its scheduling group, which may be one from which no other
// group steals, or else that of the scheduler.
func (s *Scheduler) setArenas() {
	s.arena = &park.Arena{Start: s.startHelper}
	for _, w := range s.workers {
		w.arena = s.arena
	}
	p, ok := s.policy.(*groups)
	if !ok {
		return
	}
	for number, g := range p.all {
		a := &park.Arena{Start: func(f func()) error {
			return s.EnqueueInGroup(number, Task{Func: f, Flags: Helper})
		}}
		for _, w := range g.workers {
			w.arena = a
		}
	}
}

// startHelper is the Start of the scheduler's own arena.
func (s *Scheduler) startHelper(f func()) error { return s.Enqueue(Task{Func: f, Flags: Helper}) }

// arenaOf returns the arena of w, which is single-threaded. If there are no multi-threaded workers, only w begins what is
// started there.
func (s *Scheduler) arenaOf(w *Worker) *park.Arena {
	if len(s.workers) > 0 {
		return s.arena
	}
	return &park.Arena{Start: func(f func()) error {
		return s.keepOn(context.Background(), w, Task{Func: f, Flags: Helper})
	}}
}
