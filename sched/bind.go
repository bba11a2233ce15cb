package sched

import (
	"fmt"
	"runtime"
	"slices"

	"fiberlab/fiber"
	"fiberlab/internal/clock"
	"fiberlab/internal/goroutine"
	"fiberlab/sched/report"
)

// Bind makes the calling goroutine a single-threaded worker of s. It may then wait as a fiber does. While it waits, its
// thread runs other fibers, and the tasks that no other worker may begin. The goroutine is locked to its thread until
// Unbind, which it must call before it ends.
//
// Bind returns ErrBound if the caller is bound or runs in a task, ErrClosed if Close refuses it, and ErrNotBound if New
// has not made s. In a bubble of testing/synctest it returns ErrBubble. Any other error is one of fiber.Attach.
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
	if len(s.workers) == 0 { // w alone begins what is started there
		w.arena = s.newArena(target{})
	}
	s.numbers++
	w.begin(root)
	s.bound = append(s.bound, w)
	workersTaken.Add(1)
	return nil
}

// endedBound returns an error that wraps ErrNotUnbound if a goroutine has ended without Unbind, and nil otherwise. It
// lists all goroutines, which stops the program for a moment.
func (s *Scheduler) endedBound() error {
	workers := s.everyWorker()
	traces, ok := report.Traces()
	for _, w := range workers[len(s.workers):] {
		number := w.local.main.goroutine
		if _, lives := traces[number]; ok && !lives && slices.Contains(s.everyWorker(), w) {
			return fmt.Errorf("sched: close %s: goroutine %d, which was %s: %w", s.cfg.Name, number, w.name, ErrNotUnbound)
		}
	}
	return nil
}

// Unbind makes the calling goroutine a plain one again. It first runs what its worker has left to do: tasks that no
// other worker may run, and fibers that are blocked, until all have ended.
//
// It returns ErrNotBound, ErrInTask, ErrInWait, or an error of fiber.Fiber.Detach. If fibers of its worker are blocked
// or tasks cannot begin, and for Config.GiveUpAfter nothing has happened in the whole scheduler, it returns a
// *Deadlock; see [Scheduler.Close]. The scheduler is still bound then, and Unbind may be called again.
func Unbind() error {
	f := Current()
	if f == nil {
		return fmt.Errorf("sched: unbind: %w", ErrNotBound)
	}
	w, s := f.maker, f.maker.scheduler
	if w.mode != singleThreaded || f != w.local.main || w.shutdown.Load() || f.self.Load() != uint64(fiber.Self()) {
		return fmt.Errorf("sched: unbind of %s: %w", s.cfg.Name, ErrInTask)
	}
	if f.inWait() {
		return f.nested("unbind")
	}
	if deadlock := w.stop(); deadlock != nil {
		return deadlock
	}
	if err := w.detach(); err != nil {
		w.mailbox.Open() // finished has closed it
		return fmt.Errorf("sched: unbind of %s: %w", s.cfg.Name, err)
	}
	runtime.UnlockOSThread()
	s.mu.Lock()
	s.bound = slices.DeleteFunc(s.bound, func(other *Worker) bool { return other == w })
	s.unbound.Tasks += w.tasks.load()
	s.unbound.Stolen += w.stolen.load()
	s.unbound.Made += w.made.load()
	w.places.RemoveCount(&w.tasks.n)
	workersTaken.Add(-1)
	s.mu.Unlock()
	w.recordEvent(Event{Kind: KindUnbound})
	s.signalClose()
	return nil
}

// stop runs what is left for w, a single-threaded worker, and ends the fibers of w. If a deadlock prevents that, stop
// returns it; else nil. The main fiber must call it. It blocks.
func (w *Worker) stop() *Deadlock {
	w.shutDown()
	if !w.finished() {
		over, ended := make(chan struct{}), make(chan struct{})
		go w.watchUnbind(over, ended)
		w.dispatch()
		close(over)
		<-ended
	}
	deadlock := w.stuck.Swap(nil)
	if w.finished() { // perhaps just when watchUnbind reported a deadlock
		deadlock = nil
		w.endFibers()
	}
	w.shutdown.Store(false)
	return deadlock
}

// watchUnbind, on its own goroutine, puts deadlocks of w into w.stuck until over is closed. Then it closes ended.
func (w *Worker) watchUnbind(over <-chan struct{}, ended chan<- struct{}) {
	defer close(ended)
	o := deadlockJudge{s: w.scheduler, only: w, limit: clock.Instant(w.scheduler.cfg.GiveUpAfter)}
	for pause(stepOf(o.limit), nil, over) {
		o.report(func(d *Deadlock) {
			w.stuck.Swap(d) // see idle.Word.Look
			w.word.Notify()
		})
	}
}

// givesUp reports whether Unbind shall return the deadlock that watchUnbind has left in w.stuck. If w has something to
// run by now, givesUp drops that report and returns false. w calls it on its thread.
func (w *Worker) givesUp() bool {
	if w.stuck.Load() != nil && w.canRun() {
		w.stuck.Store(nil)
	}
	return w.stuck.Load() != nil
}
