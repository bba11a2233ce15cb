package sched

import (
	"errors"
	"fmt"
	"time"

	"fiberlab/fiber"
)

// stays is for f, which could not give the thread away because of err.
func (w *Worker) stays(f *Fiber, err error) {
	if !errors.Is(err, fiber.ErrLocked) {
		panic(fmt.Sprintf("sched: %v cannot hand its thread to %v: %v", f, w.own.current, err))
	}
	w.keepThread(f, err)
}

// keepThread is for f, which is blocked or has yielded, but cannot leave its thread because of err: on the
// goroutine backend, a task in a callback from C. Its worker goes on with nothing else until
// f is Queued. What was to run in its place is put back. The clock is looked at every millisecond, since
// the worker would be woken for other things as well.
func (w *Worker) keepThread(f *Fiber, err error) {
	o := &w.own
	o.left = nil
	if to := o.current; to.load().state() == Idle {
		w.pushIdle(to)
	} else if to.home != nil {
		o.ready.Push(to)
	} else {
		w.scheduler.migration.ready(to, nil)
	}
	if t := o.inHand; t.Func != nil {
		o.inHand = job{}
		w.putBack(t)
	}
	o.current = f
	for told := false; ; told = true {
		w.poll()
		if w.removeReady(f) || f.home == nil && (f.recalled() || f.load().state() == Queued) {
			break
		}
		if !told {
			w.scheduler.cfg.Exhausted(fmt.Errorf("%s does nothing else while a task waits: %w", w.name, err))
		}
		time.Sleep(retryPause)
	}
}

// removeReady takes f out of the fibers that are ready, and tells whether it was among them. Its state does not tell: a
// thread that has made it Queued puts it into the mailbox only then.
func (w *Worker) removeReady(f *Fiber) (removed bool) {
	o := &w.own
	for range o.ready.Len() {
		if g := o.ready.Pop(); g != f {
			o.ready.Push(g)
		} else {
			removed = true
		}
	}
	return removed
}
