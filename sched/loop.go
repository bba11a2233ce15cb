package sched

import (
	"fmt"
	stackdump "runtime/debug"

	"fiberlab/internal/clock"
	"fiberlab/internal/release"
)

// The loop of a worker. Each fiber without a task runs it: in run or, if it is the main fiber, in dispatch. The fiber
// takes what is next: a task, which it calls, or another fiber, to which it hands the thread. A task that blocks hands
// the thread on, and another fiber goes on with the loop. That fiber exists before the task begins: a worker that has
// none, and can make none, begins no task.

// mostResumed is how many fibers are resumed in a row while there is a task to begin. Fibers may wake one another
// without end, and must not keep the task from being begun.
const mostResumed = 32

// run is what each fiber but the main one does while it has no task to go on with. It returns when the fiber is not
// needed any more.
//
// It takes what waitForWork has found before it polls again. Another fiber may have called waitForWork: see there.
func (f *Fiber) run() {
	for !f.ending {
		w := f.worker.Load()
		r, ok := w.take()
		for ; !ok; r, ok = w.take() {
			if w.ends() {
				return
			}
			if main := w.mainWaits(f); main != nil {
				r = ofFiber(main)
				break
			}
			w.waitForWork(f)
		}
		w.timers.leave(w)
		if r.fiber() != nil {
			if !f.goIdle(w, r.fiber()) {
				return
			}
			continue
		}
		f.execute(r)
		w = f.worker.Load()
		if len(w.local.ended) >= mostEnded {
			w.reap()
		}
		w.poll()
	}
}

// dispatch is the loop of the main fiber; no other fiber calls it. It leaves tasks to other fibers, which may migrate:
// the main fiber cannot leave its thread. So the main fiber is free to wait for work as a goroutine, and to report a
// deadlock to Unbind. dispatch returns when ends is true.
func (w *Worker) dispatch() {
	main := w.local.main
	for !w.ends() {
		if next := w.pickNext(main); next != main {
			main.goIdle(w, next)
		}
	}
}

// take takes what the calling fiber runs or switches to next: a ready local fiber; else, in turn, a local task or what
// the policy has. Ready local fibers come first, but not without end: see fiberIsNext. take takes nothing else unless
// canBegin is true: an idle fiber must exist in case the task blocks. The worker calls take on its thread.
func (w *Worker) take() (runnable, bool) {
	w.mustRunCaller("take")
	o := &w.local
	if w.fiberIsNext() {
		o.resumed++
		return ofFiber(o.ready.Pop()), true
	}
	if !w.holdsIdle() && !(w.hasTask() && w.canBegin()) {
		return runnable{}, false
	}
	if o.localNext && !o.tasks.Empty() {
		return w.takeLocalTask(), true
	}
	if w.mode == multiThreaded {
		if r, ok := w.scheduler.policy.next(w); ok {
			if f := r.fiber(); f != nil {
				w.takesFiber(f)
			} else {
				o.resumed, o.localNext = 0, true
			}
			return r, true
		}
	}
	if !o.tasks.Empty() {
		return w.takeLocalTask(), true
	}
	return runnable{}, false
}

// takesFiber notes that w has taken f from the policy, to run it. Then a ready local fiber may follow, and a local task
// comes before the next entry of the policy. w calls takesFiber on its thread.
func (w *Worker) takesFiber(f *Fiber) {
	f.worker.Store(w)
	w.local.localNext = true
	w.local.resumed = min(w.local.resumed, mostResumed-1)
}

// takeLocalTask takes a task that no other worker may begin; there must be one.
func (w *Worker) takeLocalTask() runnable {
	w.local.resumed, w.local.localNext = 0, false
	w.pinned.add(^uint64(0))
	return w.local.tasks.Pop()
}

// fiberIsNext reports whether the first of the worker's ready fibers runs next, before any task. After mostResumed
// fibers in a row it returns false if hasTask and canBegin are true; otherwise it counts them from 0 again. The worker
// calls it on its thread.
func (w *Worker) fiberIsNext() bool {
	o := &w.local
	if o.ready.Empty() {
		return false
	}
	if o.resumed >= mostResumed {
		if w.hasTask() && w.canBegin() {
			return false
		}
		o.resumed = 0
	}
	return true
}

// hasTask reports whether there is a task to begin, or a fiber that the policy has.
func (w *Worker) hasTask() bool {
	return !w.local.tasks.Empty() || w.mode == multiThreaded && w.scheduler.policy.has(w)
}

// canRun reports whether the worker has something to run: a ready fiber of its own, or a task or fiber that hasTask
// finds. If the worker is short, what hasTask finds counts only if canBegin is true. The worker calls it on its thread.
func (w *Worker) canRun() bool {
	return !w.local.ready.Empty() || w.hasTask() && (!w.short() || w.canBegin())
}

// pickNext polls, and returns the fiber that runs after f, the calling fiber, which is blocked, called Yield, or is in
// dispatch. That is a ready fiber, which may be f, or else an idle one for a task. If there is neither, pickNext waits
// for work, or returns what waiter returns. If Unbind gives up, or ends is true in dispatch, it returns the main fiber.
func (w *Worker) pickNext(f *Fiber) *Fiber {
	w.mustRunCaller("pickNext")
	o := &w.local
	if !o.ready.Empty() && o.resumed < mostResumed && w.mailbox.Empty() && w.timers.next() == clock.Never &&
		w.stuck.Load() == nil && !w.short() { // what the loop comes to most often
		o.resumed++
		return o.ready.Pop()
	}
	w.poll()
	next := w.pick(f)
	if next.load().state() != Idle { // an idle fiber calls leave itself, if it finds something to run
		w.timers.leave(w)
	}
	return next
}

// pick is what pickNext does if there may be other work than ready local fibers.
func (w *Worker) pick(f *Fiber) *Fiber {
	o := &w.local
	for {
		if w.shutdown.Load() && w.givesUp() && f != o.main {
			return o.main
		}
		if w.fiberIsNext() {
			o.resumed++
			return o.ready.Pop()
		}
		if w.hasTask() {
			if next := w.fiberForTask(); next != nil {
				return next
			}
		}
		if f.mayGoOn() || f.load().state() == Running && w.ends() {
			return f
		}
		if waiter := w.waiter(f); waiter != nil {
			return waiter
		}
		w.waitForWork(f)
	}
}

// fiberForTask returns the fiber that runs next; hasTask must be true. It is the policy's next entry if that is a fiber
// and no local task goes first. Otherwise it is an idle fiber, which takes the task, or nil if canBegin is false.
func (w *Worker) fiberForTask() *Fiber {
	if w.sharesFibers() && !(w.local.localNext && !w.local.tasks.Empty()) {
		if f := w.scheduler.migration.nextFiber(w, false); f != nil {
			w.takesFiber(f)
			return f
		}
	}
	if !w.canBegin() {
		return nil
	}
	return w.takeIdle()
}

// waiter returns the fiber that is to wait for work instead of f, the calling fiber, or nil if f waits itself. If the
// worker has no device and can leave its thread, that is the main fiber; see mainWaits. Otherwise it is an idle fiber,
// if there is one and f is blocked, in two cases. If f may migrate, it leaves its stack, and another worker can enter
// it. If the worker has a device, polling it uses much stack, and only the stacks of idle fibers have to hold that.
func (w *Worker) waiter(f *Fiber) *Fiber {
	if w.local.device == nil {
		if main := w.mainWaits(f); main != nil || f.home != nil {
			return main
		}
	}
	if f.load().state() == Running || !w.holdsIdle() {
		return nil
	}
	return w.takeIdle()
}

// ends reports whether w is to run nothing more: Close or Unbind has shut it down, and either nothing is left for it or
// Unbind gives up. See finished and givesUp. w calls it on its thread.
func (w *Worker) ends() bool { return w.shutdown.Load() && (w.finished() || w.givesUp()) }

// goIdle makes f Idle, and switches to another fiber, named to. f is the calling fiber, and has no task. goIdle returns
// true when f is Running again, and false when endFibers has entered f to end it. If MaxIdle fibers are idle, and f is
// not the main fiber, goIdle returns false at once: f must end, and then the worker enters the other fiber.
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

// carryOn makes f Running. f is the calling fiber: it was Idle, and has just been entered.
func (f *Fiber) carryOn() {
	f.store(f.load().in(Running), WhyCarryOn)
	f.worker.Load().switches.add(1)
}

// switchTo switches from f, the calling fiber, to another fiber, named to. It returns when f is current again, or at
// once if to is f. f is Idle or, if suspend calls switchTo, blocked or Queued.
//
// A main fiber is also entered when another fiber ends. Then switchTo switches to the fiber that is current now.
func (f *Fiber) switchTo(to *Fiber) {
	w := f.worker.Load()
	for w.local.current = to; w.local.current != f; {
		w = f.arrived(f.fiber.SwitchTo(w.local.current.fiber))
	}
}

// arrived is what f does first when it has got a thread: it publishes the fiber that was left. It returns the worker
// whose thread that is, which has picked f.
//
// err is the error of the switch from f; if there is one, the program ends. The word of f already says that f waits, so
// its frames must not be unwound. On the goroutine backend, a task that waits in a callback from C causes the error.
func (f *Fiber) arrived(err error) *Worker {
	w := f.worker.Load()
	release.Store(&w.running, f.self.Load())
	if err != nil {
		fatal(fmt.Sprintf("%v cannot hand its thread to %v: %v", f, w.local.current, err))
	}
	if left := w.local.left; left != nil {
		w.local.left = nil
		left.publish()
	}
	return w
}

// execute calls the function of a task on f, the calling fiber. Afterwards nothing of the task is left on f, which
// may have come to another worker.
func (f *Fiber) execute(t runnable) {
	w := f.worker.Load()
	w.tasks.add(1)
	if w.places != nil {
		w.places.Counted(w.tasks.load())
	}
	f.groupLocal = t.flags&GroupLocal != 0
	migrates := f.home == nil
	if migrates && t.flags&SameThread != 0 {
		f.home = w
	}
	call, name := t.function()
	if name != nil {
		f.name.Store(name)
	}
	if f.record != nil {
		f.recordEvent(KindTaskBegan, "")
	}
	f.task.Begin(call)
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
		if f.record != nil {
			f.recordEvent(KindTaskEnded, "")
		}
		if f.name.Load() != nil {
			f.name.Store(nil)
		}
		f.worker.Load().tasksDone.add(1)
		if migrates {
			f.home = nil
		}
	}()
	call()
	returned = true
}

// failed handles a task that panicked with value, or that called Goexit if value is nil. It calls Config.Panicked, on
// top of the task's frames. After Goexit, or if Config.Panicked is nil, it panics instead, which ends the program.
func (f *Fiber) failed(value any) {
	if value == nil {
		panic(ErrGoexit)
	}
	handler := f.maker.scheduler.cfg.Panicked
	if handler == nil {
		panic(value)
	}
	mustReturn("Config.Panicked", f, func() { handler(value, stackdump.Stack()) })
}
