package sched

import (
	"time"

	"fiberlab/internal/clock"
)

// IdleRecorder is a WorkerRecorder that is also told how its worker waits for work. Its lock is held in these calls, too.
type IdleRecorder interface {
	WorkerRecorder
	// Spin says that the worker begins to wait awake, or that it ends that.
	Spin(at time.Duration, begins bool)
	// Woken says that the worker, which spun or slept, was claimed for work and told so, by a task or the loop of the worker of
	// that number; less than 0: by none of the scheduler's. Only policy Group tells it.
	Woken(at time.Duration, by int, asleep bool)
}

// spin tells that the worker begins or ends to spin. A nil r tells nothing.
func (r *recording) spin(begins bool) {
	if r == nil || r.idle == nil {
		return
	}
	r.Lock()
	defer r.Unlock()
	r.idle.Spin(time.Duration(clock.Now()), begins)
}

// woken tells that the caller has woken w, which slept or spun.
func (r *recording) woken(w *Worker, asleep bool) {
	if r == nil || r.idle == nil {
		return
	}
	by := -1
	if waker := w.scheduler.worker(); waker != nil {
		by = waker.id
	}
	r.Lock()
	defer r.Unlock()
	r.idle.Woken(time.Duration(clock.Now()), by, asleep)
}
