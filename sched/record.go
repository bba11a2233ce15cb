package sched

import (
	"sync"
	"time"

	"fiberlab/internal/clock"
	"fiberlab/sched/report"
)

// Recorder is told what the workers and the fibers of a scheduler do. The one of package fiberlab/sched/trace keeps it.
type Recorder interface {
	// Worker is called when New or Bind makes a worker of that number. It must not call the scheduler. The result is told
	// the events of that worker, and of the fibers that it makes, wherever they run then; a nil result is told nothing.
	Worker(number int) WorkerRecorder
}

// WorkerRecorder is told the events of one worker and of the fibers that it has made. Its lock is held in each call of
// Detailed and Record, and over the change of state that an event is about. So it learns the transitions of a fiber in
// the order in which they happen. Any thread may call it, in the middle of a switch or a wake-up: it must not block for
// long, nor wait for fibers or notify them.
type WorkerRecorder interface {
	sync.Locker
	Detailed() bool // whether a transition shall have By, ByFiber and Text; they cost more than all the rest
	Record(e Event)
}

// Event is something that happens to a fiber or a worker. Its Kind says which fields count beside At and Worker.
type Event struct {
	Kind     Kind
	From, To State
	Why      Why
	Count    int32
	At       time.Duration // since the program began
	Worker   int           // the number of the worker that the event is about, or that runs the fiber
	Maker    int           // the number of the worker that has made the fiber
	Fiber    int           // its number among those of its maker; 0 is the fiber that its thread began with
	Task     string        // the name of the task that the fiber runs, if it has one
	By       int           // the worker that made ByFiber; in the Woken kinds, that runs the waker; below 0: none
	ByFiber  int           // the number of a fiber among those that By has made
	Text     string
}

// Kind is what an Event is about.
type Kind uint8

const (
	// KindTransition and the next three are a fiber's: Maker, Fiber and Task count. In a transition, the fiber goes From
	// one state To another because of Why. A Detailed recorder learns the notifier after WhyNotify, in By and ByFiber.
	// After WhyWait it learns, in Text, the call, as "fibersync.(*Mutex).Lock", and what that waits for, if known.
	KindTransition Kind = iota

	KindTaskBegan
	KindTaskEnded
	KindMark          // the task has called AddMark with Text
	KindSpinBegan     // the worker looks for work, awake
	KindSpinEnded     // it does so no longer
	KindWokenSpinning // it spun, and By notified it of work; under policy Stealing, of work to steal
	KindWokenAsleep   // it slept, and By did so
	KindStole         // it has stolen Count tasks or fibers, which were Text's
	KindCompleted     // it has collected Count completions from its device
	KindUnbound       // it was a goroutine's, which has unbound: no event follows
)

// AddMark adds a mark of that name to what the Recorder of the caller's scheduler keeps; a trace shows it where the
// calling task runs. It does nothing if there is no Recorder, or if the caller is no fiber of a
// scheduler. It does not block.
func AddMark(name string) {
	if f := Current(); f != nil && f.record != nil {
		f.recordEvent(KindMark, name)
	}
}

// recordEvent records an event of f, the calling fiber. f.record must not be nil.
func (f *Fiber) recordEvent(kind Kind, text string) {
	f.record.Lock()
	defer f.record.Unlock()
	e := Event{Kind: kind, Text: text}
	f.fillIn(&e)
	f.record.Record(e)
}

// fillIn says when e happens, to which fiber, and where.
func (f *Fiber) fillIn(e *Event) {
	e.At, e.Worker, e.By = time.Duration(clock.Now()), f.worker.Load().id, -1
	e.Maker, e.Fiber = f.maker.id, int(f.id)
	if name := f.name.Load(); name != nil {
		e.Task = *name
	}
}

// recordEvent records e, an event of w, if there is a Recorder. Any thread may call it.
func (w *Worker) recordEvent(e Event) {
	if w.record == nil {
		return
	}
	w.record.Lock()
	defer w.record.Unlock()
	e.At, e.Worker = time.Duration(clock.Now()), w.id
	w.record.Record(e)
}

// recordWoken records that the caller has woken w, which slept or spun.
func (w *Worker) recordWoken(asleep bool) {
	e := Event{Kind: KindWokenSpinning, By: -1}
	if asleep {
		e.Kind = KindWokenAsleep
	}
	if waker := w.scheduler.workerOf(Current()); waker != nil {
		e.By = waker.id
	}
	w.recordEvent(e)
}

// recordChange is swap for an f whose record is not nil: it also records the transition. Any thread may call it.
func (f *Fiber) recordChange(old, next word, why Why) bool {
	f.record.Lock()
	defer f.record.Unlock()
	if !f.mark(old, next) {
		return false
	}
	e := Event{Kind: KindTransition, From: old.state(), To: next.state(), Why: why}
	f.fillIn(&e)
	if f.record.Detailed() {
		f.addDetails(&e)
	}
	f.record.Record(e)
	return true
}

// addDetails adds to e who has notified f, or what f waits for. The thread that changes the state of f calls it.
func (f *Fiber) addDetails(e *Event) {
	if e.Why == WhyNotify {
		if by := Current(); by != nil && by.maker.scheduler == f.maker.scheduler {
			e.By, e.ByFiber = by.maker.id, int(by.id)
		}
	}
	if e.Why == WhyWait {
		if e.Text = report.WaitingCall(); f.awaits != nil {
			what, _ := f.awaits.Awaited()
			e.Text += " of " + what
		}
	}
}

// RecordCompletions tells the Recorder, if there is one, that the device of w has just collected n completions. A
// device calls it in Poll and Wait.
func (w *Worker) RecordCompletions(n int) {
	if w != nil && n > 0 {
		w.recordEvent(Event{Kind: KindCompleted, Count: int32(n)})
	}
}
