package sched

import (
	"fmt"
	stackdump "runtime/debug"

	"fiberlab/internal/clock"
	"fiberlab/internal/release"
)

// The loop of a worker. Each of its fibers runs it while it has no task: it takes what is next, which is a
// task, to call it, or another fiber, to hand the thread to it. A task that waits hands the thread on
// from where it waits; then another fiber carries the worker on.

// mostResumed is how many fibers are resumed in a row while tasks wait: fibers that
// wake one another for ever must not keep a task from being begun.
const mostResumed = 32

// run is what each fiber does while it has no task to go on with. It returns when the fiber is not
// needed any more.
func (f *Fiber) run() {
	for !f.ending {
		w := f.worker.Load()
		if w.local.outOfDuty != nil && w.local.inHand.Func == nil {
			w.offDuty(f)
		}
		w.poll()
		r, ok := w.take()
		for ; !ok; r, ok = w.take() {
			if w.finished() || w.givesUp() {
				return
			}
			if main := w.mainWaits(f); main != nil {
				r.fiber = main
				break
			}
			w.waitForWork(f)
		}
		w.timers.leave(w)
		if r.fiber == nil {
			w.prepareWaiter()
			f.execute(r.task)
			f.worker.Load().reapMany()
		} else if !f.goIdle(w, r.fiber) {
			return
		}
	}
}

// runThread is what the main fiber of a multi-threaded worker does. It returns when the worker is finished.
//
// A main fiber cannot leave its thread. So where fibers may migrate it leaves tasks to other fibers, as
// long as these can be made: a task that waits can go on elsewhere then.
func (w *Worker) runThread() {
	main := w.local.main
	if w.scheduler.migration == nil {
		main.run()
		return
	}
	for !w.finished() && !w.givesUp() {
		if w.local.inHand.Func == nil {
			if to := w.pickNext(main); to != main {
				w.leaveMain(to)
				continue
			}
		}
		if r, ok := w.take(); ok && r.fiber != nil {
			w.leaveMain(r.fiber)
		} else if ok {
			main.execute(r.task)
		}
	}
}

// leaveMain makes the main fiber, which calls it and has no task, Idle and runs to instead. It returns when the thread
// falls to the main fiber.
func (w *Worker) leaveMain(to *Fiber) {
	main := w.local.main
	main.store(main.load().in(Idle), WhyGoIdle)
	main.switchTo(to)
	main.carryOn()
}

// take takes what the worker runs next: the task that it has in hand; a fiber in local that is ready; a task in
// local, in turn with what the policy has. Fibers come first, but not for ever.
func (w *Worker) take() (runnable, bool) {
	w.mustRunCaller("take")
	o := &w.local
	if t := o.inHand; t.Func != nil {
		o.inHand = job{}
		return runnable{task: t}, true
	}
	if w.fiberIsNext() {
		o.resumed++
		return runnable{fiber: o.ready.Pop()}, true
	}
	if o.turn = !o.turn; o.turn && !o.tasks.Empty() {
		return w.takeLocalTask(), true
	}
	if w.mode == multiThreaded {
		if r, ok := w.scheduler.policy.next(w); ok {
			if r.fiber != nil {
				r.fiber.worker.Store(w)
				o.resumed = min(o.resumed, mostResumed-1) // a fiber in local may follow, and then the policy's next
			} else {
				o.resumed = 0
			}
			return r, true
		}
	}
	if !o.tasks.Empty() {
		return w.takeLocalTask(), true
	}
	return runnable{}, false
}

// takeLocalTask takes a task that the worker alone may begin; there must be one.
func (w *Worker) takeLocalTask() runnable {
	w.local.resumed = 0
	w.pinned.add(^uint64(0))
	return runnable{task: w.local.tasks.Pop()}
}

// fiberIsNext decides between a fiber of the worker's own and tasks.
func (w *Worker) fiberIsNext() bool {
	o := &w.local
	if o.ready.Empty() {
		return false
	}
	if o.resumed >= mostResumed {
		if w.hasTask() && w.exhausted.Load() == nil {
			return false
		}
		o.resumed = 0
	}
	return true
}

// hasTask reports whether there is a task to begin, or a fiber that the policy has.
func (w *Worker) hasTask() bool {
	return !w.local.tasks.Empty() ||
		w.mode == multiThreaded && (w.scheduler.policy.has(w) || w.exhausted.Load() != nil && w.hasTaskToSkip())
}

// pickNext returns the fiber that goes on in the place of f, the calling fiber, which is blocked or has yielded: a
// fiber that is ready, which may be f; else, if a task is to begin, an idle fiber, or a new one if there is none. It
// waits until there is something to run. For a main fiber that has no task it returns f if the worker is finished, or
// gives up.
func (w *Worker) pickNext(f *Fiber) *Fiber {
	w.mustRunCaller("pickNext")
	o := &w.local
	if o.outOfDuty != nil {
		w.offDuty(f)
	}
	if !o.ready.Empty() && o.resumed < mostResumed && w.nothingDue() { // what the loop comes to most often
		o.resumed++
		return o.ready.Pop()
	}
	next := w.pick(f)
	w.timers.leave(w)
	return next
}

// pick is pickNext where there may be more to see to.
func (w *Worker) pick(f *Fiber) *Fiber {
	o := &w.local
	w.poll()
	for {
		switch {
		case w.givesUp() && f != o.main:
			w.removeIdle(o.main)
			return o.main
		case w.exhausted.Load() != nil && f.queueIfNotified():
			w.notExhausted()
			return f
		case w.fiberIsNext():
			o.resumed++
			w.notExhausted()
			return o.ready.Pop()
		case !w.hasTask():
			if f.mayGoOn() || f.load().state() == Running && (w.finished() || w.givesUp()) {
				return f
			}
			if waiter := w.waiter(f); waiter != nil {
				return waiter
			}
			w.waitForWork(f)
		case len(o.idle) == 0:
			if r := w.skipTasks(); r != nil {
				return r
			}
			if w.exhausted.Load() != nil && (f.mayGoOn() || w.onlyMainIsLeft(f)) {
				w.notExhausted()
				return f
			}
			if w.makeIdle(); w.exhausted.Load() != nil {
				w.offerMain()
				w.poll() // nothing else ends the wait for a fiber; with one, the task goes first, see waitForWork
			}
		default:
			if r, ok := w.take(); ok && r.fiber != nil {
				return r.fiber
			} else if ok {
				o.inHand = r.task
				return w.takeIdle()
			}
		}
	}
}

// nothingDue reports whether a fiber that is ready can go on without more ado: there is no message, no deadline, and
// the worker neither gives up nor is exhausted.
func (w *Worker) nothingDue() bool {
	return w.mailbox.head.Load() == nil && len(w.local.timers.heap) == 0 && w.timers.next() == clock.Never &&
		w.stuck.Load() == nil && w.exhausted.Load() == nil
}

// goIdle makes f, the calling fiber, which has no task, Idle and runs to instead. It returns false
// if f is to end: at once, because enough fibers are idle, or in the end.
func (f *Fiber) goIdle(w *Worker, to *Fiber) bool {
	o := &w.local
	if len(o.idle) >= w.scheduler.cfg.MaxIdle && f != o.main {
		f.ending = true
		o.current = to
		return false
	}
	f.store(f.load().in(Idle), WhyGoIdle)
	f.task.End()
	w.pushIdle(f)
	f.switchTo(to)
	if f.ending {
		return false
	}
	f.carryOn()
	return true
}

// carryOn makes f Running, the calling fiber, which was Idle and has been entered.
func (f *Fiber) carryOn() {
	f.store(f.load().in(Running), WhyCarryOn)
	f.worker.Load().switches.add(1)
}

// switchTo hands the thread to another fiber, and returns when the calling fiber, f, is
// current again. f is Idle: a fiber that is blocked calls suspend.
//
// The thread may come back earlier: when a fiber ends, it falls to the main fiber,
// and a deadlock check enters each blocked fiber. A fiber that gets it by mistake hands it on.
func (f *Fiber) switchTo(to *Fiber) {
	w := f.worker.Load()
	for w.local.current = to; w.local.current != f; {
		w = f.arrived(f.fiber.SwitchTo(w.local.current.fiber))
	}
}

// arrived is what f does first when it has got a thread, or has not been able to give one away because of err. It
// returns the worker whose thread that is: the worker that has picked f. It publishes the fiber that was left, and
// answers if f was entered for a deadlock check.
func (f *Fiber) arrived(err error) *Worker {
	for {
		w := f.worker.Load()
		release.Store(&w.running, f.self.Load())
		if err != nil {
			w.stays(f, err)
		}
		if left := w.local.left; left != nil {
			w.local.left = nil
			left.publish()
		}
		if w.local.asked != f {
			return w
		}
		w.local.asked = nil
		f.tell()
		err = f.fiber.SwitchTo(w.local.asker.fiber)
	}
}

// enter switches from the fiber that runs to another one.
func (w *Worker) enter(from, to *Fiber) {
	if err := from.fiber.SwitchTo(to.fiber); err != nil {
		panic(fmt.Sprintf("sched: %v cannot enter %v: %v", from, to, err))
	}
}

// putBack queues a task anew that was to begin.
func (w *Worker) putBack(t job) {
	if t.Flags&SameThread != 0 || w.mode != multiThreaded || !w.scheduler.policy.submit(t, w) {
		w.pushTask(t)
	}
}

// execute calls the function of a task on f, the calling fiber. Afterwards nothing of the task is left on f, which
// may have come to another worker.
func (f *Fiber) execute(t job) {
	w := f.worker.Load()
	if d := w.scheduler.drops.Load(); d != nil && t.Flags&Helper == 0 && d.drop(w.scheduler, t) {
		return
	}
	w.tasks.add(1)
	w.release(t)
	f.groupLocal = t.Flags&GroupLocal != 0
	migrates := f.home == nil
	if migrates && t.Flags&SameThread != 0 {
		f.home = w
	}
	if f.begins(t.name); f.record != nil {
		f.record.begin(f, w.scheduler.names.of(t.name))
	}
	returned := false
	defer func() {
		if f.hook != nil {
			f.hook = nil
		}
		if !returned {
			f.failed(recover())
		}
		if f.local != nil {
			f.local = nil
		}
		f.residue.Clear()
		f.ends()
		f.worker.Load().tasksDone.add(1)
		if migrates {
			f.home = nil
		}
		if f.record != nil {
			f.record.end(f)
		}
	}()
	f.task.Begin(t.Func)
	t.Func()
	returned = true
}

// failed deals with a task that did not return: it panicked with value, or called
// Goexit if that is nil. It runs on top of the task's frames.
func (f *Fiber) failed(value any) {
	if value == nil {
		panic(ErrGoexit)
	}
	handler := f.maker.scheduler.cfg.Panicked
	if handler == nil {
		panic(value)
	}
	handler(value, stackdump.Stack())
}

// NameTask gives the calling task a name, as Task.Name does, from now on. It is for tasks that other code has
// enqueued. It does nothing if the caller is no fiber of a scheduler. It does not block.
func NameTask(name string) {
	f := Current()
	if f == nil {
		return
	}
	names := &f.maker.scheduler.names
	number := names.number(name)
	if f.begins(number); f.record != nil {
		f.record.rename(f, names.of(number))
	}
}
