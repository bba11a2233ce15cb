package sched

import (
	"fmt"
	"sync"
	"time"

	"fiberlab/internal/clock"
	"fiberlab/sched/report"
)

// Recorder is told what the fibers of a scheduler do. The one of package fiberlab/sched/trace keeps it.
type Recorder interface {
	// Worker is called when a worker of that number is made. The result is told what the fibers do that this worker
	// makes, wherever they run then; a nil result is told nothing.
	Worker(number int) WorkerRecorder
}

// WorkerRecorder is told what the fibers of one maker do, and how that worker waits for work. Its lock is held in each
// call but Unbound, and over the change of state that a call is about. So it learns the transitions of a fiber in the
// order in which they happen. Any thread may call it, in the middle of a switch or a wake-up: it must not block for
// long, nor wait for fibers or notify them.
type WorkerRecorder interface {
	sync.Locker
	// Detailed reports whether a Transition shall have By and For. They cost more than all the rest.
	Detailed() bool
	Transition(m Moment, t Transition)
	Begin(m Moment, task string) // the fiber begins a task of that name, which may be empty
	End(m Moment)                // its task has ended
	Mark(m Moment, name string)  // its task has called AddMark
	// Spin says that the worker begins to wait awake, or that it ends that.
	Spin(at time.Duration, begins bool)
	// Woken says that the worker, which spun or slept, was notified of work. A task or the loop of the worker of number
	// by has done that; less than 0: none of the scheduler's. Under policy Stealing it is told of wake-ups to steal alone.
	Woken(at time.Duration, by int, asleep bool)
	// Took says that the worker has stolen n tasks or fibers; from names whose they were. If from is empty, it has
	// collected n completions from its device.
	Took(at time.Duration, n int, from string)
	// Unbound says that the worker was a goroutine's, which has unbound: nothing more will be told.
	Unbound()
}

// Moment says when something happens, to which fiber, and where.
type Moment struct {
	At     time.Duration // since the program began
	Worker int           // the number of the worker that runs the fiber
	Fiber  int           // the fiber's number among those of its maker; 0 is the fiber that its thread began with
}

// Transition is a change of the state of a fiber.
type Transition struct {
	From State
	To   State
	Why  Why
	By   Notifier // the notifier, if Why is WhyNotify
	// to Yielded or Waiting: the call that waits, as "fibersync.(*Mutex).Lock", and of what if that is known
	For string
}

// Notifier is the fiber that has woken another one.
type Notifier struct {
	Worker int // its maker; less than 0: it was no fiber of the scheduler
	Fiber  int
}

// String names the fiber.
func (n Notifier) String() string {
	if n.Worker < 0 {
		return "no fiber"
	}
	return fmt.Sprintf("worker %d fiber %d", n.Worker, n.Fiber)
}

// AddMark adds a mark of that name to what the Recorder of the caller's scheduler keeps; a trace shows it where the
// calling task runs. It does nothing if there is no Recorder, or if the caller is no fiber of a
// scheduler. It does not block.
func AddMark(name string) {
	if f := Current(); f != nil && f.record != nil {
		f.tell(func(m Moment) { f.record.Mark(m, name) })
	}
}

// tell calls one method of the Recorder of f, with this moment.
func (f *Fiber) tell(method func(m Moment)) {
	f.record.Lock()
	defer f.record.Unlock()
	method(f.moment())
}

// tell calls one method of the Recorder of w, if there is one, with the present time.
func (w *Worker) tell(method func(at time.Duration)) {
	if w.record == nil {
		return
	}
	w.record.Lock()
	defer w.record.Unlock()
	method(time.Duration(clock.Now()))
}

// moment is now, for f.
func (f *Fiber) moment() Moment {
	return Moment{At: time.Duration(clock.Now()), Worker: f.worker.Load().id, Fiber: f.id}
}

// recordChange swaps the word of f and records the transition. It returns false if the word is no longer old.
func (f *Fiber) recordChange(old, next word, why Why) bool {
	r := f.record
	r.Lock()
	defer r.Unlock()
	if !f.mark(old, next) {
		return false
	}
	m, t := f.moment(), Transition{From: old.state(), To: next.state(), Why: why, By: Notifier{Worker: -1}}
	if r.Detailed() {
		f.addDetails(&t)
	}
	r.Transition(m, t)
	return true
}

// addDetails says by whom f was notified, or for what it waits.
func (f *Fiber) addDetails(t *Transition) {
	if t.Why == WhyNotify {
		if by := Current(); by != nil && by.maker.scheduler == f.maker.scheduler {
			t.By = Notifier{by.maker.id, by.id}
		}
	}
	if t.To == Yielded || t.To == Waiting {
		if t.For = report.WaitingCall(); f.awaits != nil {
			what, _ := f.awaits.Awaited()
			t.For += " of " + what
		}
	}
}

// recordBegin records that f, the calling fiber, begins a task of that name.
func (f *Fiber) recordBegin(task string) {
	f.record.Lock()
	defer f.record.Unlock()
	f.record.Begin(f.moment(), task)
}

// recordSpin records that the worker begins or ends to spin.
func (w *Worker) recordSpin(begins bool) {
	w.tell(func(at time.Duration) { w.record.Spin(at, begins) })
}

// recordWoken records that the caller has woken w, which slept or spun.
func (w *Worker) recordWoken(asleep bool) {
	if w.record == nil {
		return
	}
	by := -1
	if waker := w.scheduler.workerOf(Current()); waker != nil {
		by = waker.id
	}
	w.tell(func(at time.Duration) { w.record.Woken(at, by, asleep) })
}

// recordTook records that w, the calling worker, has stolen n tasks or fibers from another one.
func (w *Worker) recordTook(n int, from string) {
	w.tell(func(at time.Duration) { w.record.Took(at, n, from) })
}

// RecordCompletions tells the Recorder, if there is one, that the device of w has just collected n completions. A
// device calls it in Poll and Wait.
func (w *Worker) RecordCompletions(n int) {
	if w != nil && n > 0 {
		w.recordTook(n, "")
	}
}
