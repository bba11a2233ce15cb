package sched

import (
	"slices"
	"sync/atomic"
	"time"

	"fiberlab/internal/admission"
	"fiberlab/internal/clock"
	"fiberlab/internal/release"
)

// Stats counts what a scheduler's workers have done, and what they hold. Blocked also counts fibers that called Yield.
type Stats struct {
	Tasks  uint64 // begun
	Stolen uint64 // taken over from another worker's queue, or from that of another scheduling group
	Made   uint64 // fibers made

	Fibers  int // that have not ended, with the main ones
	Idle    int // that have no task, without the main ones
	Blocked int // in a wait, or just woken from one
	// tasks that have not begun; where fibers migrate, also fibers that are ready and wait in the queues of these tasks
	Pending int

	Enqueuing int // callers that wait for room, see Config.MaxQueued

	Workers []WorkerStats // the multi-threaded ones by number, then the bound ones
	Groups  []GroupStats  // the scheduling groups by number; none under other policies
}

// WorkerStats counts what one worker has done.
type WorkerStats struct {
	Worker   int    // its number
	Tasks    uint64 // begun
	Switches uint64 // how often a fiber became Running on it, even if that continued without a switch
	// taken over from queues of other workers or of other scheduling groups: tasks, and fibers that migrate
	Stolen uint64
	Sleeps uint64        // how often it slept, on its thread or as a goroutine
	Busy   time.Duration // it had something to run; its thread may have had no processor then
	Idle   time.Duration // it looked for work or slept
}

// Stats returns the sums over all workers, with goroutines that have unbound, and the counts of each present worker.
// They are exact while nothing runs. It may be called from anywhere, and blocks for a moment at most.
func (s *Scheduler) Stats() Stats {
	if !s.exists() {
		return Stats{}
	}
	s.mu.Lock()
	workers, sum := slices.Concat(s.workers, s.bound), s.unbound
	s.mu.Unlock()
	sum.Workers, sum.Pending = make([]WorkerStats, len(workers)), s.policy.pending(nil)
	var fibers, blocked uint64
	for i, w := range workers {
		life, idle := w.lifetime.Load(), w.idleTime.Load() // in this order, or Busy might be less than 0
		now := clock.Now()
		of := WorkerStats{
			Worker: w.id, Tasks: w.tasks.load(), Switches: w.switches.load(), Stolen: w.stolen.load(),
			Sleeps: w.sleeps.load(), Busy: elapsed(life, now) - elapsed(idle, now), Idle: elapsed(idle, now),
		}
		sum.Workers[i] = of
		sum.Tasks += of.Tasks
		sum.Stolen += of.Stolen
		sum.Made += w.made.load()
		sum.Idle += int(w.idling.load())
		sum.Pending += w.pendingLocal()
		fibers += 1 + w.made.load() - w.gone.load()
		blocked += w.blocked.load()
	}
	sum.Fibers, sum.Blocked = int(fibers), int(blocked)
	if p, ok := s.policy.(*groups); ok {
		for _, g := range p.all {
			sum.Groups = append(sum.Groups, g.stats())
		}
	}
	if s.room != nil {
		sum.Enqueuing = s.room.Waiting()
	}
	return sum
}

// pendingLocal returns how many tasks wait for w that no other worker may begin. Any thread may call it.
func (w *Worker) pendingLocal() int {
	n := w.mailed.Load() // before pinned, see takeMessages
	return int(n) + int(w.pinned.load())
}

// counter counts what one thread does, and any thread may read it.
type counter struct{ n atomic.Uint64 }

func (c *counter) add(n uint64) { release.Store(&c.n, c.n.Load()+n) }

func (c *counter) load() uint64 { return c.n.Load() }

// counts is what a worker's thread counts. Where fibers migrate, blocked and waiting have a meaning only as sums over
// all workers. blocked also counts a fiber that called Yield, until it is resumed.
type counts struct {
	tasks, switches, stolen, sleeps counter

	tasksDone  counter // tasks that have ended
	dry        counter // how often it has run out of what it could run
	made, gone counter // fibers made, and ended, on this worker
	idling     counter // fibers that are Idle, without the main fiber
	pinned     counter // tasks in its local queue
	blocked    counter // fibers that are Yielded or Waiting, or Queued after that
	waiting    counter // those of them that have a deadline

	lifetime stopwatch // from the first moment of the main fiber to its last one
	idleTime stopwatch // while the worker looks for work or sleeps

	places *admission.Room // the scheduler's; tasks counts the places that this worker has freed
}

// stopwatch adds up the times from each start to the next stop. One thread starts and stops it, and any thread may read
// it. While it runs, its value is negative: the sum so far minus the moment of the last start.
type stopwatch struct{ atomic.Int64 }

func (s *stopwatch) start() { s.Add(-int64(clock.Now())) }

func (s *stopwatch) stop() { s.Add(int64(clock.Now())) }

// elapsed is the sum of a stopwatch at that moment, from a value that was loaded before.
func elapsed(value int64, now clock.Instant) time.Duration {
	if value < 0 {
		value += int64(now)
	}
	return time.Duration(value)
}
