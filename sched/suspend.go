package sched

import (
	"fmt"
	"strconv"
	"sync"
	"time"

	"fiberlab/fiber"
)

// wait blocks f, which must be the calling fiber, until pred holds or deadline has
// come. The worker's lock must not be held.
//
// The worker's lock is taken before the caller's lock is released. So whoever
// makes pred true under the caller's lock and then notifies cannot do so before f is
// known to be blocked, and no notification is lost.
func (f *Fiber) wait(lock sync.Locker, deadline instant, pred func() bool) bool {
	if f == nil || Current() != f {
		panic(f.misuse("wait"))
	}
	w := f.worker
	for pred == nil || !pred() {
		w.work.lock()
		if lock != nil {
			lock.Unlock()
		}
		w.suspend(deadline)
		timedOut := f.timedOut
		w.work.unlock()
		if lock != nil {
			lock.Lock()
		}
		switch {
		case pred == nil:
			return !timedOut
		case timedOut:
			return pred()
		}
	}
	return true
}

// suspend blocks the current fiber, as Yielded if deadline is never and as Waiting
// otherwise, and runs others until somebody or the deadline has made it Queued and its
// turn has come. The lock must be held; it is released meanwhile.
func (w *Worker) suspend(deadline instant) {
	f := w.current
	f.timedOut = false
	if deadline == never {
		w.change(f, Yielded, WhyWait)
	} else {
		w.change(f, Waiting, WhyWait)
		w.work.waiting.add(f, deadline)
	}
	w.work.blocked++
	w.switchTo(w.successor())
	w.work.blocked--
	w.change(f, Running, WhyResume)
}

// yield puts f, the current fiber, behind the others that are to run, and lets one
// task be begun if there is any.
func (w *Worker) yield(f *Fiber) {
	w.work.lock()
	w.change(f, Queued, WhyYield)
	w.work.fibers.push(f)
	if w.work.fibers.peek() == f {
		w.work.resumed = mostResumed
	}
	w.work.blocked++
	w.switchTo(w.successor())
	w.work.blocked--
	w.change(f, Running, WhyResume)
	w.work.unlock()
}

// successor finds the fiber that goes on in the place of the current one, which has been
// put where it will be found: it may be the successor itself. The lock must be held; it is
// released while there is nothing to run.
func (w *Worker) successor() *Fiber {
	for {
		w.waitForWork()
		if to := w.next(); to != nil {
			return to
		}
		w.makeIdle()
	}
}

// next takes the fiber that goes on: one that is queued, else one that is idle. It
// returns nil if there is neither.
func (w *Worker) next() *Fiber {
	q := &w.work
	switch {
	case q.stuck && w.current != w.main:
		q.removeIdle(w.main)
		return w.main
	case w.fiberIsNext():
		q.resumed++
		return q.fibers.pop()
	case len(q.idle) > 0:
		return q.takeIdle()
	}
	return nil
}

// switchTo hands the thread to another fiber, and returns when the one that calls it
// is current again. The lock must be held, and goes with the thread.
//
// The thread may come back earlier: when a fiber ends, it falls to the main fiber,
// and a deadlock inquiry enters each blocked fiber. Who gets it by mistake hands it on.
//
// The switch is made here and not by enter: on the goroutine backend the processor predicts
// each return after a switch wrongly, so that a function less shows.
func (w *Worker) switchTo(to *Fiber) {
	f := w.current
	w.current = to
	for w.current != f {
		if err := f.fiber.SwitchTo(w.current.fiber); err != nil {
			stranded(f, w.current, err)
		}
		for w.asked == f {
			w.asked = nil
			f.where = callers()
			w.enter(f, w.asker)
		}
	}
	if len(w.work.ended) > 0 {
		w.closeEnded()
	}
}

// enter switches from the fiber that runs to another one.
func (w *Worker) enter(from, to *Fiber) {
	if err := from.fiber.SwitchTo(to.fiber); err != nil {
		stranded(from, to, err)
	}
}

// stranded ends the program: from must not go on, and to cannot.
func stranded(from, to *Fiber, err error) {
	panic(fmt.Sprintf("sched: %v cannot hand its thread to %v: %v", from, to, err))
}

// makeIdle adds a new fiber to the idle ones. It releases the lock meanwhile. If
// that cannot be done it tells so, and waits until a fiber is queued or it is
// time for the next attempt.
func (w *Worker) makeIdle() {
	f := &Fiber{worker: w, state: Idle, id: int(w.work.counts.Made) + 1}
	w.work.unlock()
	cfg := &w.scheduler.cfg
	var err error
	f.fiber, err = fiber.New(fiber.Config{
		Name: w.name + " fiber " + strconv.Itoa(f.id), Backend: cfg.Backend, StackSize: cfg.StackSize,
	}, f.main)
	if err != nil {
		cfg.Exhausted(fmt.Errorf("%s cannot make a fiber to go on with while a task is blocked: %w", w.name, err))
		time.Sleep(rest)
		w.work.lock()
		return
	}
	f.fiber.SetValue(f)
	w.work.lock()
	w.work.counts.Made++
	f.index = len(w.work.all)
	w.work.all = append(w.work.all, f)
	w.work.idle = append(w.work.idle, f)
}

// main is the body of every fiber that a worker makes. It is entered with the
// worker's lock held, and returns with it held: the main fiber gets the thread then,
// and hands it on to the current one.
func (f *Fiber) main() {
	w := f.worker
	if !f.ending {
		w.change(f, Running, WhyCarry)
		w.run()
		if f.state != Idle {
			w.change(f, Idle, WhyEnd)
		}
	}
	q := &w.work
	if w.current == f {
		w.current = w.main
		q.removeIdle(w.main)
	}
	last := len(q.all) - 1
	q.all[f.index], q.all[last].index = q.all[last], f.index
	q.all = q.all[:last]
	q.ended = append(q.ended, f)
}

// closeEnded gives back the stacks of the fibers that have ended.
func (w *Worker) closeEnded() {
	for _, f := range w.work.ended {
		if err := f.fiber.Close(); err != nil {
			panic(err)
		}
	}
	clear(w.work.ended)
	w.work.ended = w.work.ended[:0]
}
