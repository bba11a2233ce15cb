package sched

import (
	"fmt"
	"time"
)

// keepThread is for f, which is blocked or has yielded, but cannot leave its thread because of err: on the
// goroutine backend, a task in a callback from C. Its worker goes on with nothing else until
// f is Queued. The lock must be held; it is released meanwhile.
//
// Whom f would have handed the thread to is put back. The clock is looked at every millisecond, since
// the worker's bell would ring for the others as well.
func (w *Worker) keepThread(f *Fiber, err error) {
	w.work.mustHold("keepThread")
	q := &w.work
	if to := w.current; to.state == Idle {
		q.idle = append(q.idle, to)
	} else {
		q.fibers.Push(to)
	}
	w.current = f
	for told := false; ; told = true {
		if !q.waiting.empty() {
			w.enqueueFiberTimeouts()
		}
		if f.state == Queued {
			break
		}
		q.unlock()
		if !told {
			w.scheduler.cfg.Exhausted(fmt.Errorf("%s does nothing else while a task waits: %w", w.name, err))
		}
		time.Sleep(rest)
		q.lock()
	}
	for range q.fibers.Len() {
		if g := q.fibers.Pop(); g != f {
			q.fibers.Push(g)
		}
	}
}
