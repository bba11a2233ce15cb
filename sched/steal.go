package sched

// mostStolen is how many tasks a thief takes at once, at most.
const mostStolen = 128

// steal takes half of the tasks that wait at another worker, but not those that are
// pinned to it. It begins with a random one. patient makes it wait for locks that
// are held at the moment; otherwise it passes by. The lock must not be held.
//
// What was brought to a worker that is just being woken is left to it: it takes longer to wake
// than to begin a hundred tasks, and if these block at once, they are here for good.
// Who has spared one and sleeps looks again soon, in case that one does not wake.
func (w *Worker) steal(patient bool) bool {
	workers := w.scheduler.workers
	if len(workers) < 2 {
		return false
	}
	w.spared = false
	first := w.random.IntN(len(workers))
	for i := range workers {
		victim := workers[(first+i)%len(workers)]
		switch {
		case victim == w:
		case victim.bell.waking():
			w.spared = w.spared || victim.inbox.forThieves() > 0
		case w.stealFrom(victim, patient):
			return true
		}
	}
	return false
}

// stealFrom takes from one victim, first what it has not taken to itself yet. If more
// tasks wait than w can begin at once, here or there, another worker is woken.
func (w *Worker) stealFrom(victim *Worker, patient bool) bool {
	loot, left := &w.loot, 0
	if n := victim.inbox.forThieves(); n > 0 {
		victim.inbox.take(loot, min((n+1)/2, mostStolen))
		left = n - loot.Len()
	}
	if loot.Empty() {
		if patient {
			victim.work.lock()
		} else if !victim.work.tryLock() {
			return false
		}
		tasks := &victim.work.tasks
		tasks.MoveTo(loot, min((tasks.Len()+1)/2, mostStolen))
		left = tasks.Len()
		victim.work.unlock()
	}
	if loot.Empty() {
		return false
	}
	w.work.lock()
	w.work.counts.stolen += uint64(loot.Len())
	more := loot.Len() > 1 || left > 0
	loot.MoveTo(&w.work.tasks, loot.Len())
	w.work.unlock()
	if more {
		w.scheduler.rouse()
	}
	return true
}
