package sched

import (
	"fiberlab/fiber"
	"fiberlab/internal/clock"
	"fiberlab/internal/debug"
	"fiberlab/internal/queue"
)

// own is what belongs to a worker's thread: no other thread touches it, so it has no lock. Others leave
// letters in the worker's mailbox. It holds what must run on this worker, whatever the policy: under a policy that
// lets fibers migrate, main fibers and SameThread tasks; under other policies, each fiber that began here.
type own struct {
	ready   queue.Queue[*Fiber] // Queued
	tasks   queue.Queue[job]    // not begun
	timers  timers              // of its fibers that are Waiting
	idle    []*Fiber            // Idle; used last in, first out
	ended   []*fiber.Fiber      // to be closed; see reap
	resumed int                 // fibers of ready resumed since a task was begun, or was found not to wait; see take
	looking bool                // the worker looks for something to run, and has found nothing
	freed   int                 // tasks begun whose room has not been given back
	turn    bool                // whether the next task comes from tasks, or from the policy

	outOfDuty func(worker int) // Config.OutOfDuty; see offDuty

	main    *Fiber // the fiber that the thread began with
	current *Fiber // the fiber that it runs, or is to run next
	left    *Fiber // has just been left, and is to be published by the fiber that was entered
	inHand  job    // is to be begun by the fiber that was entered

	asked    *Fiber // deadlock check: the fiber that shall say where it waits
	asker    *Fiber // the fiber that wants to know
	answered answer // what it has said

	device   Device        // nil: none
	round    int           // choices until it is polled; see pollDevice
	tryAhead clock.Instant // no fiber could be made before it is needed; not tried again before this time

	needsThread bool // it has had a SameThread task, which may count on the thread; see mainWaits
}

// mustOwn panics in a debug build unless w is the worker that the caller runs on.
func (w *Worker) mustOwn(what string) {
	if !debug.On {
		return
	}
	if f := Current(); f == nil || f.worker.Load() != w {
		panic("sched: " + what + " of " + w.name + " on another thread")
	}
}

// poll moves to the worker's queues what other threads have left in the mailbox, and fibers whose deadlines
// have passed.
func (w *Worker) poll() {
	w.mustOwn("poll")
	if w.mailbox.head.Load() != nil {
		w.takeLetters()
	}
	if len(w.own.timers.heap) > 0 || w.timers.next() != clock.Never {
		w.expire()
	}
	if w.own.device != nil {
		w.pollDevice()
	}
}

// takeLetters empties the mailbox.
func (w *Worker) takeLetters() {
	tasks := int64(0)
	for l := w.mailbox.take(); l != nil; {
		next := l.next
		l.next = nil
		if l.fiber != nil {
			w.own.ready.Push(l.fiber)
		} else {
			w.pushTask(l.task)
			tasks++
		}
		l = next
	}
	if tasks > 0 {
		w.mailbox.tasks.Add(-tasks) // after pinned, so that Stats overlooks none
	}
}

// expire ends the waits whose deadlines have passed, those of fibers that may migrate included.
func (w *Worker) expire() {
	at := clock.Now()
	for t := w.own.timers.take(at); t != nil; t = w.own.timers.take(at) {
		if ready, _ := t.expire(); ready { // a fiber in this heap is published when it waits
			w.own.ready.Push(t.fiber)
		}
	}
	if w.timers.next() <= at {
		w.timers.expire(w, at)
	}
}

// pushTask queues a task that the worker alone may begin.
func (w *Worker) pushTask(t job) {
	if t.Flags&SameThread != 0 {
		w.own.needsThread = true
	}
	w.own.tasks.Push(t)
	w.pinned.add(1)
}

// hasOwn tells whether own holds anything to run.
func (w *Worker) hasOwn() bool {
	return !w.own.ready.Empty() || !w.own.tasks.Empty() || w.own.inHand.Func != nil
}
