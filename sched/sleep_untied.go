package sched

import (
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sys/cpu"
	"golang.org/x/sys/unix"

	"fiberlab/fiber"
	"fiberlab/internal/clock"
	"fiberlab/sched/park"
)

// untiedSleep is where a worker sleeps that need not keep its thread. The worker unties its main fiber and is parked as any goroutine is. So a goroutine that has
// brought it work, and waits then, leaves it its own thread and its P without a call to the kernel; a thread that sleeps on a futex has to be woken.
//
// The kernel's timers are finer than those of the Go runtime, which waits for whole milliseconds. So a worker that
// watches a deadline keeps its thread, and sleeps on a futex.
type untiedSleep struct {
	worker *Worker
	parker *park.Goroutine

	_    [2]cpu.CacheLinePad // others write it
	word atomic.Uint32       // one of the constants below
	_    [2]cpu.CacheLinePad
}

const (
	untiedAwake  = iota // the worker does not sleep
	untiedParked        // it does, or is about to, as a goroutine
	untiedAsleep        // it does, or is about to, on the word
	untiedWoken         // Wake has been called: the sleep that is under way, or the next one, ends
)

// untiesIdle tells whether the workers of s untie themselves from their threads before they sleep: fibers migrate, so no
// task that waits can count on its thread, and nothing asks for certain threads.
func (s *Scheduler) untiesIdle() bool {
	cfg := &s.cfg
	return cfg.Policy.migrates() && cfg.Backend != fiber.Goroutine &&
		!cfg.KeepThreads && cfg.Affinity == nil && cfg.Initializer == nil && cfg.OutOfDuty == nil && cfg.Device == nil
}

// newUntiedSleep has the driver of w sleep untied.
func newUntiedSleep(w *Worker) *untiedSleep {
	s := &untiedSleep{worker: w, parker: park.NewGoroutine()}
	w.driver.(sleeper).sleepIn(s)
	return s
}

// keepsIdle tells whether a fiber is idle, or can be made and kept, for what begins next. While the main fiber waits in the place of a blocked one, a
// fiber that is ready again is found by a worker that may have no idle one: it would make one first, in vain.
func (w *Worker) keepsIdle() bool {
	o := &w.own
	if w.scheduler.cfg.MaxIdle > 1 {
		w.makeAhead()
	}
	return len(o.idle) > 0 && o.idle[0] != o.main // that is among them if no other can be made
}

// mainWaits returns the main fiber if that is to wait for work in the place of f, the calling fiber: it alone can be untied. Otherwise
// it returns nil.
func (w *Worker) mainWaits(f *Fiber) *Fiber {
	o := &w.own
	if w.untied == nil || o.needsThread || f == o.main || o.main.load().state() != Idle || w.deadline() != clock.Never {
		return nil
	}
	if f.load().state() != Running && !w.keepsIdle() {
		return nil
	}
	w.removeIdle(o.main)
	return o.main
}

// Ready implements blocker.
func (s *untiedSleep) Ready() bool { return false }

// Wait implements blocker. The main fiber keeps its thread if it waits inside of a task, which it has when no fiber could be made for that: the task may
// have tied something to its goroutine and thread, such as a coroutine of iter.Pull.
func (s *untiedSleep) Wait(limit time.Duration, _ bool) {
	o := &s.worker.own
	if limit < 0 && !o.needsThread && o.current == o.main && o.main.load().state() == Running {
		s.park()
	} else {
		s.block(limit)
	}
	s.word.Swap(untiedAwake)
}

// park unties the main fiber, which calls it, and waits as a goroutine.
func (s *untiedSleep) park() {
	main := s.worker.own.main.fiber
	if err := main.Untie(); err != nil {
		panic(fmt.Sprintf("sched: %s cannot leave its thread: %v", s.worker.name, err))
	}
	if s.word.CompareAndSwap(untiedAwake, untiedParked) {
		s.parker.Park(time.Time{})
	}
	if err := main.Tie(); err != nil {
		panic(fmt.Sprintf("sched: %s cannot have a thread: %v", s.worker.name, err))
	}
}

// block sleeps on the thread, which is left as it was.
func (s *untiedSleep) block(limit time.Duration) {
	if !s.word.CompareAndSwap(untiedAwake, untiedAsleep) {
		return
	}
	if limit >= 0 {
		// If the kernel refuses, the worker wakes some 50 us late.
		_ = unix.Prctl(unix.PR_SET_TIMERSLACK, timerSlack, 0, 0, 0)
		defer func() { _ = unix.Prctl(unix.PR_SET_TIMERSLACK, defaultSlack, 0, 0, 0) }()
	}
	futexSleep(&s.word, untiedAsleep, limit, false)
}

// Wake implements blocker.
func (s *untiedSleep) Wake() {
	switch s.word.Swap(untiedWoken) {
	case untiedParked:
		s.parker.Unpark()
	case untiedAsleep:
		futexWakeOne(&s.word)
	}
}
