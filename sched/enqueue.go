package sched

import (
	"fmt"

	"fiberlab/sched/park"
)

// Enqueue queues a task. One that is SameThread goes to the worker that the caller
// runs on. Any other goes where the policy puts it. If the scheduler has no multi-threaded workers, it goes to the worker
// that the caller's goroutine is bound to. A blocking call, which a task has made elsewhere, counts as
// inside of that task, and as running on its worker if that is the only one; but no task can be SameThread to it.
//
// Enqueue may be called from anywhere, inside and outside of tasks. It does not
// block. It returns ErrNilTask, ErrNotBound for a
// SameThread task from outside, ErrNoWorkers, or ErrClosed; tasks of a scheduler that is
// closing may still enqueue more.
func (s *Scheduler) Enqueue(t Task) error { return s.enqueue(t, s.worker()) }

// enqueue is Enqueue by a caller that runs on own, or on no worker of s if that is nil.
func (s *Scheduler) enqueue(task Task, own *Worker) error {
	if task.Func == nil {
		return fmt.Errorf("sched: enqueue on %s: %w", s.cfg.Name, ErrNilTask)
	}
	t := s.job(task)
	host := own
	if own == nil {
		host = s.host()
	}
	accepted := false
	switch pinned := t.Flags&SameThread != 0; {
	case pinned && own == nil:
		return fmt.Errorf("sched: enqueue of a SameThread task on %s: %w", s.cfg.Name, ErrNotBound)
	case pinned:
		accepted = own.keep(t, own)
	case host == nil && s.closing.Load():
	case len(s.workers) > 0:
		accepted = s.policy.submit(t, own)
	case host == nil:
		return fmt.Errorf("sched: enqueue on %s: %w", s.cfg.Name, ErrNoWorkers)
	default:
		accepted = host.keep(t, own)
	}
	if !accepted {
		return fmt.Errorf("sched: enqueue on %s: %w", s.cfg.Name, ErrClosed)
	}
	return nil
}

// EnqueueOn queues a task on the multi-threaded worker of that number, which alone may
// begin it. So tasks that will wait for most of their time can be spread over
// the workers: a fiber stays on the worker that has begun its task. See Enqueue for the rest; the
// error is ErrNoSuchWorker if there is none of that number. A scheduler that is closing ends
// each worker as soon as that has nothing to do: then it is ErrClosed, for tasks too.
func (s *Scheduler) EnqueueOn(worker int, t Task) error {
	switch own := s.worker(); {
	case t.Func == nil:
		return fmt.Errorf("sched: enqueue on worker %d of %s: %w", worker, s.cfg.Name, ErrNilTask)
	case worker < 0 || worker >= len(s.workers):
		return fmt.Errorf("sched: enqueue on worker %d of %s, which has %d: %w", worker, s.cfg.Name, len(s.workers), ErrNoSuchWorker)
	case own == nil && s.host() == nil && s.closing.Load():
		return fmt.Errorf("sched: enqueue on worker %d of %s: %w", worker, s.cfg.Name, ErrClosed)
	}
	j := s.job(t)
	j.Flags |= SameThread
	if !s.workers[worker].keep(j, s.worker()) {
		return fmt.Errorf("sched: enqueue on worker %d of %s: %w", worker, s.cfg.Name, ErrClosed)
	}
	return nil
}

// Go is Enqueue of f, without flags.
func (s *Scheduler) Go(f func()) error { return s.Enqueue(Task{Func: f}) }

// keep queues a task that w alone may begin, for a caller that runs on own, or on no worker if that is nil. It returns
// false if w takes no more.
func (w *Worker) keep(t job, own *Worker) bool {
	if own == w {
		w.own.tasks.Push(t)
		w.pinned.add(1)
		return true
	}
	if !w.mailbox.put(&letter{task: t}) {
		return false
	}
	w.driver.notify()
	return true
}

// worker is the one of s that the caller runs on, or nil.
func (s *Scheduler) worker() *Worker {
	if f := Current(); f != nil && f.maker.scheduler == s {
		return f.worker.Load()
	}
	return nil
}

// host is the worker of s for whose task the caller, a goroutine elsewhere, makes a blocking call, or nil.
func (s *Scheduler) host() *Worker {
	if w := calledFor(); w != nil && w.scheduler == s {
		return w
	}
	return nil
}

// calledFor is host for any scheduler.
func calledFor() *Worker {
	if f, ok := park.Caller().(*parker); ok {
		return f.worker.Load()
	}
	return nil
}
