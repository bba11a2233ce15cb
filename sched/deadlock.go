package sched

import (
	"fmt"
	"runtime"
	"strings"
	"time"
)

// Blocked is a fiber that is blocked, and where.
type Blocked struct {
	Worker int             // its worker's number
	Fiber  int             // its own number on that worker
	State  State           // Yielded or Waiting
	Stack  []runtime.Frame // from the function that waits outwards
}

// String is one line: the fiber, its state, and the place of the wait.
func (b Blocked) String() string {
	text := fmt.Sprintf("worker %d fiber %d: %v", b.Worker, b.Fiber, b.State)
	if len(b.Stack) > 0 {
		f := b.Stack[0]
		text += fmt.Sprintf(" in %s (%s:%d)", f.Function, f.File, f.Line)
	}
	return text
}

// Deadlock is the error of a scheduler that cannot end because fibers are blocked
// without a deadline, and nothing has happened for Config.Patience. It wraps
// ErrDeadlock.
type Deadlock struct {
	Scheduler string
	Fibers    []Blocked
}

func (d *Deadlock) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "sched: %s cannot end: %v: notify them, or give their waits a deadline, and try again", d.Scheduler, ErrDeadlock)
	for _, f := range d.Fibers {
		fmt.Fprintf(&b, "\n\t%v", f)
	}
	return b.String()
}

func (d *Deadlock) Unwrap() error { return ErrDeadlock }

// idleness is one stay of a worker without work.
type idleness struct {
	since    instant
	attempt  uint32 // the attempt to close the scheduler that since counts from
	reported bool   // that the worker is stuck
}

// inquire finds out whether a worker without work that shall end is stuck for good: if
// it has blocked fibers without deadlines, and nothing has happened for so long. It
// returns how long the worker may sleep before that must be asked again; less than 0 is
// for ever. The lock must be held.
func (w *Worker) inquire(idle *idleness) time.Duration {
	w.work.mustHold("inquire")
	const forEver = -1
	q, s := &w.work, w.scheduler
	if patience := s.cfg.Patience; !q.shutdown || q.blocked == 0 || !q.waiting.empty() || patience < 0 {
		return forEver
	} else if attempt := s.attempts.Load(); attempt != idle.attempt {
		if idle.reported {
			s.unstuck(w)
		}
		*idle = idleness{since: now(), attempt: attempt}
		return patience
	} else if left := idle.since + instant(patience) - now(); left > 0 {
		return time.Duration(left)
	}
	if !idle.reported {
		idle.reported = true
		w.blocked = w.askBlocked()
		if w.mode == singleThreaded {
			q.stuck = true
		} else {
			s.reportStuck(w, w.blocked)
		}
	}
	return forEver
}

// askBlocked lists the blocked fibers. Each is entered, so that it can say itself where
// it waits, and hands the thread back at once. The lock must be held.
func (w *Worker) askBlocked() []Blocked {
	w.work.mustHold("askBlocked")
	var list []Blocked
	for _, f := range w.work.all {
		if f.state != Yielded && f.state != Waiting {
			continue
		}
		if f == w.current {
			f.where = callers()
		} else {
			w.asked, w.asker = f, w.current
			w.enter(w.current, f)
		}
		list = append(list, Blocked{Worker: w.id, Fiber: f.id, State: f.state, Stack: frames(f.where)})
		f.where = nil
	}
	return list
}

// callers is the calling fiber's stack.
func callers() []uintptr {
	var pcs [64]uintptr
	return append([]uintptr(nil), pcs[:runtime.Callers(2, pcs[:])]...)
}

// frames names the places of a stack, without those of this package and of the primitives.
func frames(pcs []uintptr) []runtime.Frame {
	var list []runtime.Frame
	for walk := runtime.CallersFrames(pcs); ; {
		f, more := walk.Next()
		if f.Function != "" && !strings.HasPrefix(f.Function, "fiberlab/sched.") &&
			!strings.HasPrefix(f.Function, "fiberlab/sched/mixed.") {
			list = append(list, f)
		}
		if !more {
			return list
		}
	}
}

// reportStuck is called by a worker that cannot go on. It may hold its lock.
func (s *Scheduler) reportStuck(w *Worker, blocked []Blocked) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stuck[w] = blocked
	s.reports++
	s.changed.Broadcast()
}

// unstuck is called by a worker that has reported, and goes on after all.
func (s *Scheduler) unstuck(w *Worker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.stuck, w)
	s.reports++
}

// anyWoken tells whether a worker has something to run after all: it was notified by one
// that then ended, and has not come round to say so. s.mu must not be held.
func (s *Scheduler) anyWoken() bool {
	for _, w := range s.workers {
		w.work.lock()
		woken := !w.work.fibers.empty() || w.hasTask() || w.inbox.waiting.Load() > 0
		w.work.unlock()
		if woken {
			return true
		}
	}
	return false
}

// deadlock is the error of Close when every worker is stuck. s.mu must be held.
func (s *Scheduler) deadlock() error {
	d := &Deadlock{Scheduler: s.cfg.Name}
	for _, w := range s.workers {
		d.Fibers = append(d.Fibers, s.stuck[w]...)
	}
	return d
}
