package sched

// finished tells whether the worker has been told to shut down and nothing is left. The
// lock must be held.
func (w *Worker) finished() bool {
	w.work.mustHold("finished")
	q := &w.work
	if !q.shutdown || q.blocked > 0 || !q.tasks.Empty() || !q.pinned.Empty() || !q.fibers.Empty() {
		return false
	}
	return w.inbox.close()
}

// stop makes the worker end when there is nothing left to do. A multi-threaded one
// closes done then. A single-threaded one must be stopped on its main fiber, which
// does what is left to do now; it returns what keeps it from ending, if anything does.
func (w *Worker) stop() *Deadlock {
	q := &w.work
	q.lock()
	defer q.unlock()
	q.shutdown = true
	w.bell.ring()
	if w.mode == multiThreaded {
		return nil
	}
	if !w.finished() && w.scheduler.cfg.Patience >= 0 {
		unbound := make(chan struct{})
		defer close(unbound)
		go w.watchUnbind(unbound)
	}
	w.runOthers()
	deadlock := q.stuck
	if deadlock == nil {
		w.endFibers()
	}
	q.shutdown, q.stuck = false, nil
	return deadlock
}

// runOthers has other fibers do what is left to do. The main fiber, which calls it
// with the lock held, begins no task itself: if that blocked for ever, the main fiber
// could not go on and tell.
func (w *Worker) runOthers() {
	w.work.mustHold("runOthers")
	q := &w.work
	for !w.finished() && q.stuck == nil {
		to := w.next()
		if to == nil {
			w.makeIdle()
			continue
		}
		q.exhausted = nil
		w.change(w.main, Idle, WhyGiveWay)
		w.switchTo(to)
		w.change(w.main, Running, WhyCarry)
	}
}

// endFibers ends all fibers but the main one, on which it must be called when the
// worker is finished, with the lock held. It releases the lock now and then.
func (w *Worker) endFibers() {
	w.work.mustHold("endFibers")
	if w.work.inquiry != nil {
		w.answer()
	}
	for len(w.work.idle) > 0 || len(w.ended) > 0 {
		for len(w.work.idle) > 0 && len(w.ended) < mostEnded {
			f := w.work.takeIdle()
			f.ending = true
			w.current = f
			for w.current != w.main {
				w.enter(w.main, w.current)
			}
		}
		w.work.unlock()
		w.reap()
		w.work.lock()
	}
}
