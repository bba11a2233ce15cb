package sched

import (
	"fmt"
	"sync/atomic"
)

// Handle is the identity of a task. Exactly one thread claims the task: the worker whose turn has come, or a caller that runs
// it in place or takes it back. A join needs it to do the work itself instead of waiting for it.
// Its methods may be called from anywhere.
type Handle struct {
	task    func()
	claimed atomic.Bool
}

// EnqueueHandle is [Scheduler.Enqueue] of a task whose handle it returns. If a caller claims the task before a worker does, the
// worker that comes to it does nothing; until then the task counts as not begun.
func (s *Scheduler) EnqueueHandle(t Task) (*Handle, error) {
	if t.Func == nil {
		return nil, fmt.Errorf("sched: enqueue on %s: %w", s.cfg.Name, ErrNilTask)
	}
	h := &Handle{task: t.Func}
	t.Func = func() { h.Run() }
	if err := s.Enqueue(t); err != nil {
		return nil, err
	}
	return h, nil
}

// Claim takes the task back, and tells whether it did: then it will never run, unless the caller runs its
// function itself. It returns false if the task has begun, or another caller has claimed it. It does not block.
func (h *Handle) Claim() bool { return !h.claimed.Load() && h.claimed.CompareAndSwap(false, true) }

// Run claims the task and runs it on the caller. It returns false, at once, if the task
// has begun, or a caller has claimed it. Otherwise it returns when the task has returned.
func (h *Handle) Run() bool {
	if !h.Claim() {
		return false
	}
	task := h.task
	h.task = nil
	task()
	return true
}

// Claimed tells whether the task has begun or been claimed.
func (h *Handle) Claimed() bool { return h.claimed.Load() }
