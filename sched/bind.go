package sched

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"fiberlab/fiber"
	"fiberlab/internal/clock"
	"fiberlab/internal/goroutine"
)

// Bind makes the calling goroutine a single-threaded worker of s: it may then wait
// as a fiber does, and while it waits its thread runs other fibers, and those tasks that
// are its own. The goroutine is locked to its thread until Unbind, which it must
// call before it ends.
//
// Bind returns ErrBound, ErrClosed, ErrNotBound if New has not made s, ErrBubble in a bubble of testing/synctest, or
// an error of fiber.Attach.
func (s *Scheduler) Bind() error {
	if !s.exists() {
		return fmt.Errorf("sched: bind: %w", ErrNotBound)
	}
	if f := Current(); f != nil && !f.isBoundGoroutine() {
		return fmt.Errorf("sched: bind %s in a task of %s: %w", s.cfg.Name, f.maker.scheduler.cfg.Name, errBindInTask)
	} else if f != nil {
		return fmt.Errorf("sched: bind %s, where %s is: %w", s.cfg.Name, f.maker.scheduler.cfg.Name, ErrBound)
	}
	if goroutine.InBubble() {
		return fmt.Errorf("sched: bind %s: %w", s.cfg.Name, ErrBubble)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing.Load() {
		return fmt.Errorf("sched: bind %s: %w", s.cfg.Name, ErrClosed)
	}
	runtime.LockOSThread()
	root, err := fiber.Attach(s.cfg.Backend)
	if err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("sched: bind %s: %w", s.cfg.Name, err)
	}
	w := newWorker(s, s.numbers, singleThreaded)
	w.arena = s.arenaOf(w)
	w.goroutine = goroutine.Name()
	s.numbers++
	w.begin(root)
	s.bound[w] = struct{}{}
	workersBound.Add(1)
	return nil
}

// workersBound is how many goroutines of the program are bound, to all schedulers.
var workersBound atomic.Int64

// isBoundGoroutine reports whether f is a goroutine that is bound, and not a fiber that runs tasks.
func (f *Fiber) isBoundGoroutine() bool {
	return f.maker.mode == singleThreaded && f == f.maker.local.main
}

// boundJudge finds goroutines that have ended while they were bound. To ask costs time, so it asks ever more seldom.
type boundJudge struct {
	s     *Scheduler
	asked clock.Instant // the last time
	again time.Duration // how long after that it asks next; 0: it has not been called with a goroutine that is bound
}

// judge returns ErrNotUnbound if a goroutine that is bound does not exist any more.
func (o *boundJudge) judge() error {
	o.s.mu.Lock()
	bound := slices.Collect(maps.Keys(o.s.bound))
	o.s.mu.Unlock()
	now := clock.Now()
	switch {
	case len(bound) == 0:
		o.again = 0
		return nil
	case o.again == 0:
		o.asked, o.again = now, DefaultGiveUpAfter
		return nil
	case time.Duration(now-o.asked) < o.again:
		return nil
	}
	o.asked, o.again = now, 2*o.again
	names, ok := goroutine.All(mostAsked)
	for _, w := range bound {
		if ok && !names[w.goroutine] && o.s.isBound(w) {
			return fmt.Errorf("sched: close %s: %s, which was %s: %w", o.s.cfg.Name, w.goroutine, w.name, ErrNotUnbound)
		}
	}
	return nil
}

// mostAsked is in how many goroutines a boundJudge looks for one. The runtime stops the program for as long as it
// writes their stacks.
const mostAsked = 1000

// isBound reports whether w is the worker of a goroutine that is bound.
func (s *Scheduler) isBound(w *Worker) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, bound := s.bound[w]
	return bound
}

// Unbind makes the calling goroutine a plain one again. It first runs what its
// worker has left to do: tasks that no other worker may run, and fibers that are blocked,
// until all have ended.
//
// It returns ErrNotBound, ErrInTask, or a *Deadlock if fibers of its worker are blocked, and
// for Config.GiveUpAfter nothing has happened in the whole scheduler; see [Scheduler.Close]. The
// scheduler is still bound then, and Unbind may be called again.
func Unbind() error {
	f := Current()
	switch {
	case f == nil:
		return fmt.Errorf("sched: unbind: %w", ErrNotBound)
	case !f.isBoundGoroutine() || f.maker.shutdown.Load():
		return fmt.Errorf("sched: unbind of %s: %w", f.maker.scheduler.cfg.Name, ErrInTask)
	}
	w, s := f.maker, f.maker.scheduler
	if deadlock := w.stop(); deadlock != nil {
		return deadlock
	}
	if err := w.detach(); err != nil {
		return fmt.Errorf("sched: unbind of %s: %w", s.cfg.Name, err)
	}
	runtime.UnlockOSThread()
	s.mu.Lock()
	delete(s.bound, w)
	s.keepCounts(w)
	workersBound.Add(-1)
	s.mu.Unlock()
	if w.record != nil {
		w.record.Unbound()
	}
	s.signalClose()
	return nil
}

// watchUnbind reports a deadlock to w, a single-threaded worker that shuts down, until
// unbound is closed. A worker that has something to run after all is not disturbed.
func (w *Worker) watchUnbind(unbound <-chan struct{}) {
	o := deadlockJudge{s: w.scheduler, only: w, limit: clock.Instant(w.scheduler.cfg.GiveUpAfter)}
	for {
		v := o.s.survey(w)
		deadlock, again := o.judge(v)
		if deadlock != nil {
			w.giveUp(deadlock, o.seen)
		}
		if !pause(o.limit, again, unbound) {
			return
		}
	}
}

// giveUp makes Unbind return deadlock, unless the scheduler is no longer as it was then, or the worker
// finds something to run.
func (w *Worker) giveUp(deadlock *Deadlock, then survey) {
	if w.scheduler.survey(w) == then && w.shutdown.Load() {
		w.stuck.Swap(deadlock) // see idle.Word.Look
		w.word.Notify()
	}
}
