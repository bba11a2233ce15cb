package sched

import (
	"context"
	"fmt"
)

// Enqueue queues a task. A SameThread task goes to the worker that the caller
// runs on. Any other goes where the policy puts it. If the scheduler has no multi-threaded workers, it goes to the worker
// that the caller's goroutine is bound to. A blocking call, which a task has made elsewhere, counts as
// inside of that task, and as running on its worker if that is the only one; but no task can be SameThread to it.
//
// Enqueue may be called from anywhere, inside and outside of tasks. If Config.MaxQueued tasks wait to begin, it
// blocks the caller until there is room, a task not its thread; callers get room in the order in which they came. If there is
// none after Config.OverloadAfter, the caller gets an error that wraps ErrOverload, and the task never runs. Otherwise Enqueue
// does not block. It returns ErrNilTask, ErrNoWorkers, ErrClosed, or ErrNotBound: for a SameThread task from outside,
// or if New has not made s. Tasks of a scheduler that is closing may still enqueue more. A caller from outside that
// waits for room when Close begins gets ErrClosed.
func (s *Scheduler) Enqueue(task Task) error {
	return s.enqueue(context.Background(), task, s.worker())
}

// EnqueueContext is Enqueue that also gives up when ctx is done before there is room for the task, and returns
// context.Cause(ctx) then. If there is room, it queues the task even if ctx is done. It returns ErrNilContext if ctx is nil.
func (s *Scheduler) EnqueueContext(ctx context.Context, task Task) error {
	if s.exists() && ctx == nil {
		return fmt.Errorf("sched: enqueue on %s: %w", s.cfg.Name, ErrNilContext)
	}
	return s.enqueue(ctx, task, s.worker())
}

// TryEnqueue is Enqueue that never blocks: it returns ErrFull if Config.MaxQueued tasks wait to begin.
func (s *Scheduler) TryEnqueue(task Task) error { return s.enqueue(noWait, task, s.worker()) }

// enqueueNow is Enqueue that queues the task even if there is no room for it: the task has no place then.
func (s *Scheduler) enqueueNow(task Task) error { return s.enqueue(noRoom, task, s.worker()) }

// enqueue is EnqueueContext, TryEnqueue if ctx is noWait, or enqueueNow if ctx is noRoom.
// The caller runs on own, or on no worker of s if that is nil.
func (s *Scheduler) enqueue(ctx context.Context, task Task, own *Worker) error {
	switch {
	case !s.exists():
		return fmt.Errorf("sched: enqueue: %w", ErrNotBound)
	case task.Func == nil:
		return fmt.Errorf("sched: enqueue on %s: %w", s.cfg.Name, ErrNilTask)
	}
	t := s.job(task)
	home := own
	if own == nil {
		home = s.callingWorker()
	}
	accepted, pinned := false, t.Flags&SameThread != 0
	if s.room != nil && (own != nil || !pinned) && (home != nil || len(s.workers) > 0) {
		place, err := s.room.place(ctx, home != nil)
		if err != nil {
			return fmt.Errorf("sched: enqueue on %s: %w", s.cfg.Name, err)
		}
		t.Flags |= place
		if own != nil {
			own = s.worker() // the fiber may have migrated
		}
	}
	switch {
	case pinned && own == nil:
		return fmt.Errorf("sched: enqueue of a SameThread task on %s: %w", s.cfg.Name, ErrNotBound)
	case pinned:
		accepted = own.keep(t, own)
	case home == nil && s.closing.Load():
	case len(s.workers) > 0:
		accepted = s.policy.submit(t, own)
	case home == nil:
		return fmt.Errorf("sched: enqueue on %s: %w", s.cfg.Name, ErrNoWorkers)
	default:
		accepted = home.keep(t, own)
	}
	if !accepted {
		s.release(t)
		return fmt.Errorf("sched: enqueue on %s: %w", s.cfg.Name, ErrClosed)
	}
	return nil
}

// job is what the queues hold of t.
func (s *Scheduler) job(t Task) job {
	j := job{Func: t.Func, Flags: t.Flags &^ hasRoom}
	if t.Name != "" {
		j.name = s.names.number(t.Name)
	}
	return j
}

// release gives back the room of t, which will not begin. It does not block.
func (s *Scheduler) release(t job) {
	if t.Flags&hasRoom != 0 {
		s.room.give(1)
	}
}

// release gives back the room of t, which w begins, together with that of others. It does not block.
func (w *Worker) release(t job) {
	if t.Flags&hasRoom == 0 {
		return
	}
	if w.own.freed++; w.own.freed >= w.scheduler.room.share {
		w.giveRoom()
	}
}

// giveRoom gives back the room of all tasks that w has begun.
func (w *Worker) giveRoom() {
	if n := w.own.freed; n > 0 {
		w.own.freed = 0
		w.scheduler.room.give(n)
	}
}

// EnqueueOn queues a task on the multi-threaded worker of that number, which alone may
// begin it. So tasks that will wait for most of their time can be spread over
// the workers: under every policy, such a task stays on that worker. See Enqueue for the rest; the
// error is ErrNoSuchWorker if there is none of that number. A scheduler that is closing ends
// each worker as soon as that has nothing to do: then it is ErrClosed, for tasks too.
func (s *Scheduler) EnqueueOn(worker int, t Task) error {
	return s.enqueueOn(context.Background(), worker, t)
}

// EnqueueOnContext is EnqueueOn that gives up as EnqueueContext does.
func (s *Scheduler) EnqueueOnContext(ctx context.Context, worker int, t Task) error {
	if s.exists() && ctx == nil {
		return fmt.Errorf("sched: enqueue on worker %d of %s: %w", worker, s.cfg.Name, ErrNilContext)
	}
	return s.enqueueOn(ctx, worker, t)
}

// TryEnqueueOn is EnqueueOn that never blocks: it returns ErrFull if Config.MaxQueued tasks wait to begin.
func (s *Scheduler) TryEnqueueOn(worker int, t Task) error { return s.enqueueOn(noWait, worker, t) }

// enqueueOn is EnqueueOnContext, or TryEnqueueOn if ctx is noWait.
func (s *Scheduler) enqueueOn(ctx context.Context, worker int, t Task) error {
	if !s.exists() {
		return fmt.Errorf("sched: enqueue on worker %d: %w", worker, ErrNotBound)
	}
	if worker < 0 || worker >= len(s.workers) {
		return fmt.Errorf("sched: enqueue on worker %d of %s, which has %d: %w", worker, s.cfg.Name, len(s.workers), ErrNoSuchWorker)
	}
	if err := s.keepOn(ctx, s.workers[worker], t); err != nil {
		return fmt.Errorf("sched: enqueue on worker %d of %s: %w", worker, s.cfg.Name, err)
	}
	return nil
}

// keepOn queues a task that w alone may begin. It returns ErrNilTask, ErrClosed, or an error of room.take.
func (s *Scheduler) keepOn(ctx context.Context, w *Worker, t Task) error {
	own := s.worker()
	inside := own != nil || s.callingWorker() != nil
	switch {
	case t.Func == nil:
		return ErrNilTask
	case !inside && s.closing.Load():
		return ErrClosed
	}
	j := s.job(t)
	j.Flags |= SameThread
	if s.room != nil {
		place, err := s.room.place(ctx, inside)
		if err != nil {
			return err
		}
		j.Flags |= place
		own = s.worker() // the fiber may have migrated
	}
	if !w.keep(j, own) {
		s.release(j)
		return ErrClosed
	}
	return nil
}

// Go is Enqueue of f, without flags.
func (s *Scheduler) Go(f func()) error { return s.Enqueue(Task{Func: f}) }

// Schedule queues f on the scheduler that is bound to the caller, which is the one that Get returns, as a task with
// these flags; see [Scheduler.Enqueue]. It returns ErrNotBound if there is none.
func Schedule(f func(), flags ...Flags) error {
	t := Task{Func: f}
	for _, flag := range flags {
		t.Flags |= flag
	}
	if own := Current(); own != nil {
		return own.maker.scheduler.enqueue(context.Background(), t, own.worker.Load())
	}
	if w := calledFor(); w != nil {
		return w.scheduler.enqueue(context.Background(), t, nil)
	}
	return fmt.Errorf("sched: schedule: %w", ErrNotBound)
}

// keep queues a task that w alone may begin, for a caller that runs on own, or on no worker if that is nil. It returns
// false if w takes no more.
func (w *Worker) keep(t job, own *Worker) bool {
	if own == w {
		w.pushTask(t)
		return true
	}
	if !w.mailbox.putTask(t) {
		return false
	}
	w.driver.notify()
	return true
}
