package sched

// mostStolen is how many tasks a thief takes at once, at most.
const mostStolen = 128

// seek steals half of the tasks that wait at another worker, beginning with a random one. If it is the
// last attempt before w sleeps, it waits for locks that are held; otherwise it passes over their queues.
//
// It skips a worker that is just being woken, and leaves it the tasks that were brought to it: a wake-up takes longer
// than to begin a hundred tasks, and tasks that block at once stay on the worker that began them. After that
// w seeks again soon, in case the skipped worker does not wake.
func (p *stealing) seek(w *Worker, last bool) bool {
	own := p.queues[w.id]
	if own.injected.waiting.Load() > 0 {
		return true
	}
	own.skipped = false
	if len(p.workers) < 2 {
		return false
	}
	first := own.random.IntN(len(p.workers))
	for i := range p.workers {
		victim := p.workers[(first+i)%len(p.workers)]
		switch {
		case victim == w:
		case victim.driver.waking():
			own.skipped = own.skipped || p.queues[victim.id].injected.waiting.Load() > 0
		case p.stealFrom(w, victim, last):
			return true
		}
	}
	return false
}

// stealFrom takes from one victim: from its injection queue or, if that is empty, from its queue of tasks. If more
// tasks wait than w can begin at once, here or there, another worker is woken.
func (p *stealing) stealFrom(w, victim *Worker, wait bool) bool {
	own, theirs := p.queues[w.id], p.queues[victim.id]
	batch, left := &own.batch, 0
	if n := int(theirs.injected.waiting.Load()); n > 0 {
		theirs.injected.take(batch, min((n+1)/2, mostStolen))
		left = n - batch.Len()
	}
	if batch.Empty() {
		if wait {
			theirs.mu.Lock()
		} else if !theirs.mu.TryLock() {
			return false
		}
		theirs.tasks.MoveTo(batch, min((theirs.tasks.Len()+1)/2, mostStolen))
		left = theirs.tasks.Len()
		theirs.mu.Unlock()
	}
	if batch.Empty() {
		return false
	}
	w.stolen.add(uint64(batch.Len()))
	more := batch.Len() > 1 || left > 0
	own.mu.Lock()
	batch.MoveTo(&own.tasks, batch.Len())
	own.mu.Unlock()
	if more {
		p.wakeOne()
	}
	return true
}
