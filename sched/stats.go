package sched

// Stats counts what a scheduler's workers have done, and what they hold.
type Stats struct {
	Tasks  uint64 // begun
	Stolen uint64 // taken over from another worker's queue
	Made   uint64 // fibers made

	Fibers  int // that have not ended, with the main ones
	Idle    int
	Blocked int // in a wait, or just woken from one
	Pending int // tasks that have not begun
}

// Stats returns the sums over all workers. They are exact when nothing runs meanwhile.
func (s *Scheduler) Stats() Stats {
	s.mu.Lock()
	workers := append([]*Worker(nil), s.workers...)
	for w := range s.bound {
		workers = append(workers, w)
	}
	s.mu.Unlock()
	var sum Stats
	for _, w := range workers {
		q := &w.work
		q.lock()
		sum.Tasks += q.counts.Tasks
		sum.Stolen += q.counts.Stolen
		sum.Made += q.counts.Made
		sum.Fibers += len(q.all)
		sum.Idle += len(q.idle)
		sum.Blocked += q.blocked
		sum.Pending += q.tasks.count + q.pinned.count + int(w.inbox.waiting.Load())
		q.unlock()
	}
	return sum
}
