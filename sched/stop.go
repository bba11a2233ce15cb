package sched

// finished tells whether the worker has been told to shut down and nothing is left. From then on
// it takes nothing more.
func (w *Worker) finished() bool {
	if !w.shutdown.Load() || w.hasOwn() || w.stillBlocked() {
		return false
	}
	if w.mode == multiThreaded && !w.scheduler.policy.retire(w) {
		return false
	}
	return w.mailbox.close()
}

// stillBlocked tells whether fibers are blocked that the worker may have to run.
func (w *Worker) stillBlocked() bool {
	if !w.sharesFibers() {
		return w.blocked.load() > 0
	}
	return w.scheduler.blocked() > 0
}

// blocked is how many fibers the scheduler's workers have that are blocked, or ready after that.
func (s *Scheduler) blocked() int {
	var sum uint64 // one worker blocks a fiber, and another may resume it: only the sum has a meaning
	for _, w := range s.everyWorker() {
		sum += w.blocked.load()
	}
	return int(sum)
}

// wakeIfOver wakes the workers that have been told to shut down, and wait for the last blocked fiber.
func (s *Scheduler) wakeIfOver() {
	if !s.closing.Load() {
		return
	}
	for _, w := range s.workers {
		// The swap changes nothing, but orders the count before the notification: counters are stored without
		// waiting until other processors see them.
		if w.shutdown.CompareAndSwap(true, true) {
			w.driver.notify()
		}
	}
}

// stop makes the worker end when there is nothing left to do. A multi-threaded one
// closes done then. A single-threaded one must be stopped on its main fiber, which
// does what is left to do now; it returns what keeps it from ending, if anything does.
func (w *Worker) stop() *Deadlock {
	w.shutdown.Swap(true) // see eventcount
	w.driver.notify()
	if w.mode == multiThreaded {
		return nil
	}
	if !w.finished() && w.scheduler.cfg.GiveUpAfter >= 0 {
		unbound := make(chan struct{})
		defer close(unbound)
		go w.watchUnbind(unbound)
	}
	w.runOthers()
	deadlock := w.stuck.Load()
	if deadlock == nil {
		w.endFibers()
	}
	w.shutdown.Store(false)
	w.stuck.Store(nil)
	return deadlock
}

// runOthers has other fibers do what is left to do. The main fiber, which calls it,
// begins no task itself: if that blocked for ever, the main fiber could not go on and tell.
func (w *Worker) runOthers() {
	main := w.own.main
	for !w.finished() && !w.givesUp() {
		if to := w.pickNext(main); to != main {
			w.leaveMain(to)
		}
	}
}

// endFibers ends all fibers but the main one, on which it must be called when the
// worker is finished.
func (w *Worker) endFibers() {
	o := &w.own
	w.giveRoom()
	if check := w.check.Load(); check != nil {
		w.answer(o.main, check)
	}
	for len(o.idle) > 0 {
		for len(o.idle) > 0 && len(o.ended) < mostEnded {
			f := w.takeIdle()
			f.ending = true
			o.current = f
			for o.current != o.main {
				w.enter(o.main, o.current)
			}
		}
		w.reap()
	}
	w.reap()
	w.scheduler.fibers.remove(o.main)
	w.times.end()
}
