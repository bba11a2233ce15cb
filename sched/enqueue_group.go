package sched

import (
	"context"
	"fmt"
)

// Groups returns how many scheduling groups there are. Under policies other than [Group] all multi-threaded workers are one
// group; without such workers there is none.
func (s *Scheduler) Groups() int {
	if !s.exists() {
		return 0
	}
	if p, ok := s.policy.(*groups); ok {
		return len(p.all)
	}
	return min(len(s.workers), 1)
}

// Group returns the number of the worker's scheduling group: from 0, in the order of the workers. It is -1 if a
// goroutine is bound as the worker, and for a worker that belongs to no scheduler.
func (w *Worker) Group() int {
	if !w.exists() || w.mode != multiThreaded {
		return -1
	}
	if p, ok := w.scheduler.policy.(*groups); ok {
		return w.id / p.size
	}
	return 0
}

// EnqueueInGroup queues a task in the scheduling group of that number. A worker of the group begins it, unless all are
// busy and another group steals it, which GroupLocal forbids. See Enqueue for the rest, and for room. The error is
// ErrNoSuchGroup if there is no group of that number. It is ErrOtherGroup for a SameThread task whose caller runs on no
// worker of the group. A scheduler that is closing ends each group as soon as that has nothing to do: then it is
// ErrClosed, for tasks too.
func (s *Scheduler) EnqueueInGroup(group int, t Task) error {
	return s.enqueueInGroup(context.Background(), group, t)
}

// TryEnqueueInGroup is EnqueueInGroup that never blocks: it returns ErrFull if Config.MaxQueued tasks wait to begin.
func (s *Scheduler) TryEnqueueInGroup(group int, t Task) error {
	return s.enqueueInGroup(noWait, group, t)
}

// enqueueInGroup is EnqueueInGroup, or TryEnqueueInGroup if ctx is noWait.
func (s *Scheduler) enqueueInGroup(ctx context.Context, group int, t Task) error {
	if !s.exists() {
		return fmt.Errorf("sched: enqueue in group %d: %w", group, ErrNotBound)
	}
	if err := s.giveToGroup(ctx, group, t); err != nil {
		return fmt.Errorf("sched: enqueue in group %d of %s: %w", group, s.cfg.Name, err)
	}
	return nil
}

func (s *Scheduler) giveToGroup(ctx context.Context, group int, t Task) error {
	own := s.worker()
	inside, pinned := own != nil || s.callingWorker() != nil, t.Flags&SameThread != 0
	switch {
	case t.Func == nil:
		return ErrNilTask
	case group < 0 || group >= s.Groups():
		return fmt.Errorf("there are %d: %w", s.Groups(), ErrNoSuchGroup)
	case pinned && (own == nil || own.Group() != group):
		return ErrOtherGroup
	case !inside && s.closing.Load():
		return ErrClosed
	}
	j := s.job(t)
	if s.room != nil {
		place, err := s.room.place(ctx, inside)
		if err != nil {
			return err
		}
		j.Flags |= place
		own = s.worker() // the fiber may have migrated
		if pinned && own.Group() != group {
			s.release(j)
			return ErrOtherGroup
		}
	}
	if !s.submitTo(group, j, own) {
		s.release(j)
		return ErrClosed
	}
	return nil
}

// submitTo queues a task in that group. The caller runs on own, or on no worker of s if that is nil. It returns false if the
// group takes no more.
func (s *Scheduler) submitTo(group int, j job, own *Worker) bool {
	if j.Flags&SameThread != 0 {
		return own.keep(j, own)
	}
	if p, ok := s.policy.(*groups); ok {
		return p.submitTo(group, j, own)
	}
	return s.policy.submit(j, own)
}
