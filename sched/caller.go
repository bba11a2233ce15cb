package sched

import "fiberlab/sched/park"

// Get returns the scheduler that is bound to the caller: the one whose task it is, whose task
// has it make a blocking call, or that its goroutine has bound. It returns nil if there is none.
func Get() *Scheduler {
	if f := Current(); f != nil {
		return f.maker.scheduler
	}
	if w := calledFor(); w != nil {
		return w.scheduler
	}
	return nil
}

// worker is the one of s that the caller runs on, or nil.
func (s *Scheduler) worker() *Worker {
	if f := Current(); f != nil && f.maker.scheduler == s {
		return f.worker.Load()
	}
	return nil
}

// callingWorker is the worker of s for whose task the caller, a goroutine elsewhere, makes a blocking call, or nil.
func (s *Scheduler) callingWorker() *Worker {
	if w := calledFor(); w != nil && w.scheduler == s {
		return w
	}
	return nil
}

// calledFor is callingWorker for any scheduler.
func calledFor() *Worker {
	if f, ok := park.Caller().(*parker); ok {
		return f.worker.Load()
	}
	return nil
}
