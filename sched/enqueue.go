package sched

import (
	"fmt"

	"fiberlab/sched/park"
)

// Enqueue queues a task. One that is SameThread goes to the worker that the caller
// runs on. Any other goes, in this order, to a worker that spins for work; to one that
// sleeps, which is woken; to the worker that the caller runs on, if that is a
// multi-threaded one, in turn with those that are just being woken; to each multi-threaded
// worker in turn. If the scheduler has no multi-threaded workers, it goes to the worker
// that the caller's goroutine is bound to. A blocking call, which a task has made elsewhere, counts as
// inside of that task, and as running on its worker if that is the only one; but no task can be SameThread to it.
//
// Enqueue may be called from anywhere, inside and outside of tasks. It blocks no
// longer than a queue operation takes. It returns ErrNilTask, ErrNotBound for a
// SameThread task from outside, ErrNoWorkers, or ErrClosed; tasks of a scheduler that is
// closing may still enqueue more.
func (s *Scheduler) Enqueue(t Task) error { return s.enqueue(t, s.worker()) }

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
	w := s.workers[worker]
	if !w.inbox.put(j) {
		return fmt.Errorf("sched: enqueue on worker %d of %s: %w", worker, s.cfg.Name, ErrClosed)
	}
	w.bell.ring()
	return nil
}

// Go is Enqueue of f, without flags.
func (s *Scheduler) Go(f func()) error { return s.enqueue(Task{Func: f}, s.worker()) }

// enqueue is Enqueue by a caller that runs on own, or on no worker of s if that is nil.
func (s *Scheduler) enqueue(task Task, own *Worker) error {
	if task.Func == nil {
		return fmt.Errorf("sched: enqueue on %s: %w", s.cfg.Name, ErrNilTask)
	}
	t := s.job(task)
	if t.Flags&SameThread != 0 {
		if own == nil {
			return fmt.Errorf("sched: enqueue of a SameThread task on %s: %w", s.cfg.Name, ErrNotBound)
		}
		own.push(t)
		return nil
	}
	var host *Worker
	if own == nil {
		host = s.host()
	}
	if own == nil && host == nil && s.closing.Load() {
		return fmt.Errorf("sched: enqueue on %s: %w", s.cfg.Name, ErrClosed)
	}
	if len(s.workers) == 0 {
		switch {
		case host != nil && host.offer(t):
			return nil
		case host != nil:
			return fmt.Errorf("sched: enqueue on %s: %w", s.cfg.Name, ErrClosed)
		case own == nil:
			return fmt.Errorf("sched: enqueue on %s: %w", s.cfg.Name, ErrNoWorkers)
		}
		own.push(t)
		return nil
	}
	if w := s.restless(); w != nil && w != own && w.offer(t) {
		return nil
	}
	if own != nil && own.mode == multiThreaded {
		if w := own.nextInTurn(); w != own && w.bell.waking() && w.offer(t) {
			return nil
		}
		own.push(t)
		s.rouse()
		return nil
	}
	for range s.workers {
		if w := s.workers[s.turn.Add(1)%uint64(len(s.workers))]; w.offer(t) {
			return nil
		}
	}
	return fmt.Errorf("sched: enqueue on %s: %w", s.cfg.Name, ErrClosed)
}

// restless takes a worker that has nothing to do: one that spins, else one that
// sleeps. It returns nil if all are busy.
func (s *Scheduler) restless() *Worker {
	if i := s.spinning.take(); i >= 0 {
		return s.workers[i]
	}
	if i := s.asleep.Take(); i >= 0 {
		return s.workers[i]
	}
	return nil
}

// nextInTurn goes round the multi-threaded workers. w must be the one that the caller runs on.
func (w *Worker) nextInTurn() *Worker {
	workers := w.scheduler.workers
	if w.turn++; w.turn >= len(workers) {
		w.turn = 0
	}
	return workers[w.turn]
}

// rouse wakes a worker that sleeps, if any does, to steal what has just been put
// where a busy one will find it: it may have gone to sleep after a look there. One that
// is being woken already will not do: it may find work of its own and never look.
func (s *Scheduler) rouse() {
	for i := s.asleep.Take(); i >= 0; i = s.asleep.Take() {
		w := s.workers[i]
		w.summoned.Store(true)
		if w.bell.ring() {
			return
		}
	}
}

// worker is the one of s that the caller runs on, or nil.
func (s *Scheduler) worker() *Worker {
	if f := Current(); f != nil && f.worker.scheduler == s {
		return f.worker
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
	if f, ok := park.Caller().(*Fiber); ok {
		return f.worker
	}
	return nil
}

// push queues a task on the worker that the caller runs on.
func (w *Worker) push(t job) {
	w.work.lock()
	if t.Flags&SameThread != 0 {
		w.work.pinned.Push(t)
	} else {
		w.work.tasks.Push(t)
	}
	w.work.unlock()
}

// offer queues a task on a worker from outside, unless that has stopped. If the worker
// is busy after all, one that sleeps is woken to steal the task.
func (w *Worker) offer(t job) bool {
	if !w.inbox.put(t) {
		return false
	}
	if !w.bell.ring() {
		w.scheduler.rouse()
	}
	return true
}
