package sched

import (
	"slices"
	"time"

	"fiberlab/internal/clock"
)

// Stats counts what a scheduler's workers have done, and what they hold.
type Stats struct {
	Tasks  uint64 // begun
	Stolen uint64 // taken over from another worker's queue
	Made   uint64 // fibers made

	Fibers  int // that have not ended, with the main ones
	Idle    int
	Blocked int // in a wait, or just woken from one
	Pending int // tasks that have not begun

	Workers []WorkerStats // the multi-threaded ones by number, then those that are bound
}

// WorkerStats counts what one worker has done.
type WorkerStats struct {
	Worker   int           // its number
	Tasks    uint64        // begun
	Switches uint64        // of its thread to a fiber
	Stolen   uint64        // tasks taken over from other workers' queues
	Sleeps   uint64        // of its thread, since there was nothing to do
	Busy     time.Duration // it had something to run; its thread may have had no processor then
	Idle     time.Duration // it looked for work or slept
}

// counts is what a worker counts. Its lock guards it, and only its own thread writes.
type counts struct {
	tasks, switches, stolen, sleeps uint64
	made                            uint64 // fibers

	busy, idle time.Duration // before since
	since      clock.Instant // the last change between busy and idle
	resting    bool          // it is idle
}

// rest says that the worker has run out of work.
func (c *counts) rest() {
	if t := clock.Now(); !c.resting {
		c.busy += time.Duration(t - c.since)
		c.since, c.resting = t, true
	}
}

// work says that the worker has found some, or ends.
func (c *counts) work() {
	if t := clock.Now(); c.resting {
		c.idle += time.Duration(t - c.since)
		c.since, c.resting = t, false
	}
}

// Stats returns the sums over all workers, and each worker's own. They are exact when nothing runs
// meanwhile.
func (s *Scheduler) Stats() Stats {
	s.mu.Lock()
	workers := append([]*Worker(nil), s.workers...)
	for w := range s.bound {
		workers = append(workers, w)
	}
	s.mu.Unlock()
	slices.SortFunc(workers, func(a, b *Worker) int { return a.id - b.id })
	sum := Stats{Workers: make([]WorkerStats, len(workers))}
	for i, w := range workers {
		q := &w.work
		q.lock()
		own := w.stats()
		sum.Workers[i] = own
		sum.Tasks += own.Tasks
		sum.Stolen += own.Stolen
		sum.Made += q.counts.made
		sum.Fibers += len(q.all)
		sum.Idle += len(q.idle)
		sum.Blocked += q.blocked
		sum.Pending += q.tasks.Len() + q.pinned.Len() + int(w.inbox.waiting.Load())
		q.unlock()
	}
	return sum
}

// stats is the worker's own part. The lock must be held.
func (w *Worker) stats() WorkerStats {
	c := w.work.counts
	switch {
	case w.isDone(): // its time stands still
	case c.resting:
		c.work()
	default:
		c.rest()
	}
	return WorkerStats{Worker: w.id, Tasks: c.tasks, Switches: c.switches, Stolen: c.stolen, Sleeps: c.sleeps,
		Busy: c.busy, Idle: c.idle}
}
