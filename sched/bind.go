package sched

import (
	"fmt"
	"runtime"

	"fiberlab/fiber"
	"fiberlab/internal/goroutine"
)

// Bind makes the calling goroutine a single-threaded worker of s: it may then wait
// as a fiber does, and while it waits its thread runs other fibers, and those tasks that
// are its own. The goroutine is locked to its thread until Unbind, which it must
// call before it ends.
//
// Bind returns ErrBound, ErrClosed, ErrNotBound if New has not made s, ErrBubble in a bubble of testing/synctest, or an error of fiber.Attach.
func (s *Scheduler) Bind() error {
	if !s.exists() {
		return fmt.Errorf("sched: bind: %w", ErrNotBound)
	}
	if f := Current(); f != nil {
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
	s.numbers++
	w.begin(root)
	s.bound[w] = struct{}{}
	return nil
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
	case f.maker.mode != singleThreaded || f != f.maker.own.main || f.maker.shutdown.Load():
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
	s.mu.Unlock()
	if w.record != nil {
		w.record.Unbound()
	}
	s.tell()
	return nil
}
