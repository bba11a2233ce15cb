package sched

import (
	"context"
	"fmt"
)

// mostAtOnce is how many tasks of a batch go to the policy at a time.
const mostAtOnce = 256

// EnqueueBatch is [Scheduler.Enqueue] of several tasks. They go in together where the policy can, which costs less than one by one, and
// at most as many workers are woken as there are tasks. It returns how many the scheduler has accepted: tasks[:n], each of which will run
// once. If that is not all, tasks[n:] will never run, and err is why tasks[n] was not accepted. EnqueueBatch returns ErrNilTask, and 0, if any task has no function.
//
// If there is no room for all, it enqueues as many as there is room for, and blocks the caller as Enqueue does until there is more;
// callers that wait take turns. Config.OverloadAfter limits the wait for each next task.
func (s *Scheduler) EnqueueBatch(tasks []Task) (n int, err error) {
	if !s.exists() {
		return 0, fmt.Errorf("sched: enqueue %d tasks: %w", len(tasks), ErrNotBound)
	}
	for i, t := range tasks {
		if t.Func == nil {
			return 0, fmt.Errorf("sched: enqueue %d tasks on %s: task %d: %w", len(tasks), s.cfg.Name, i, ErrNilTask)
		}
	}
	for jobs := make([]job, 0, min(len(tasks), mostAtOnce)); n < len(tasks); {
		accepted, err := s.enqueueSome(tasks[n:], jobs)
		if n += accepted; err != nil {
			return n, err
		}
	}
	return n, nil
}

// enqueueSome enqueues the first one of tasks, and some that follow it. It returns how many, or why not all that it has tried. It uses jobs, which is
// empty, up to its capacity.
func (s *Scheduler) enqueueSome(tasks []Task, jobs []job) (n int, err error) {
	own := s.worker()
	inside := own != nil || s.callingWorker() != nil
	for n < min(len(tasks), cap(jobs)) && tasks[n].Flags&SameThread == 0 {
		n++
	}
	if n < 2 || len(s.workers) == 0 || !inside && s.closing.Load() {
		if err := s.enqueue(context.Background(), tasks[0], own); err != nil {
			return 0, err
		}
		return 1, nil
	}
	flags := Flags(0)
	if s.room != nil {
		if n, err = s.room.takeSome(context.Background(), inside, n); err != nil {
			return 0, fmt.Errorf("sched: enqueue on %s: %w", s.cfg.Name, err)
		}
		flags = hasRoom
		if own != nil {
			own = s.worker() // the fiber may have migrated
		}
	}
	for _, t := range tasks[:n] {
		j := s.job(t)
		j.Flags |= flags
		jobs = append(jobs, j)
	}
	accepted := submitAll(s.policy, jobs, own)
	for _, t := range jobs[accepted:] {
		s.release(t)
	}
	clear(jobs)
	if accepted < n {
		err = fmt.Errorf("sched: enqueue on %s: %w", s.cfg.Name, ErrClosed)
	}
	return accepted, err
}
