package sched

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"fiberlab/fiber"
)

// pushIdle adds f, which is Idle, to the idle fibers.
func (w *Worker) pushIdle(f *Fiber) {
	w.local.idle = append(w.local.idle, f)
	w.idling.add(1)
}

// takeIdle takes the idle fiber that ran last; there must be one.
func (w *Worker) takeIdle() *Fiber {
	o := &w.local
	last := len(o.idle) - 1
	f := o.idle[last]
	o.idle[last] = nil
	o.idle = o.idle[:last]
	w.idling.add(^uint64(0))
	return f
}

// removeIdle takes f out of the idle fibers, if it is among them.
func (w *Worker) removeIdle(f *Fiber) {
	if i := slices.Index(w.local.idle, f); i >= 0 {
		w.local.idle = slices.Delete(w.local.idle, i, i+1)
		w.idling.add(^uint64(0))
	}
}

// newFiber is replaced by tests.
var newFiber = fiber.New

// makeIdle adds a new fiber to the idle ones. If that cannot be done it tells so, and waits
// until it is time for the next attempt.
func (w *Worker) makeIdle() {
	w.mustRunCaller("makeIdle")
	if err := w.addIdle(); err != nil {
		err = fmt.Errorf("%s cannot make a fiber to go on with while a task is blocked: %w", w.name, err)
		w.scheduler.cfg.Exhausted(err)
		time.Sleep(retryPause)
		w.exhaust(err)
		return
	}
	w.notExhausted()
}

// addIdle adds a new fiber to the idle ones, or returns why none can be made.
func (w *Worker) addIdle() error {
	s := w.scheduler
	f := &Fiber{maker: w, record: w.record, id: int(w.made.load()) + 1}
	f.message.fiber = f
	f.worker.Store(w)
	if !w.sharesFibers() {
		f.home = w
	}
	var err error
	f.fiber, err = newFiber(fiber.Config{
		Name: f.String(), Backend: s.cfg.Backend, StackSize: s.cfg.StackSize, GuardPages: s.cfg.GuardPages,
	}, f.main)
	if err != nil {
		return err
	}
	f.fiber.SetValue((*parker)(f))
	w.made.add(1)
	s.fibers.add(f)
	w.pushIdle(f)
	return nil
}

// main is the body of every fiber that a worker makes. When it returns, the main fiber of the worker gets the
// thread, and hands it on to the current one.
func (f *Fiber) main() {
	f.self.Store(uint64(fiber.Self()))
	f.residue = fiber.ResidueHere()
	f.task = f.fiber.Task()
	f.arrived(nil)
	if !f.ending {
		f.carryOn()
		f.run()
		if old := f.load(); old.state() != Idle {
			f.store(old.in(Idle), WhyEnd)
		}
	}
	w := f.worker.Load()
	if o := &w.local; o.current == f {
		o.current = o.main
		w.removeIdle(o.main)
	}
	// on the goroutine backend another goroutine may get this one's g before the main fiber has arrived
	w.running.Store(0)
	f.self.Store(0)
	w.scheduler.fibers.remove(f)
	w.gone.add(1)
	w.local.ended = append(w.local.ended, f.fiber)
}

// registry lists the fibers of a scheduler that have not ended.
type registry struct {
	mu     sync.Mutex
	fibers []*Fiber
}

func (r *registry) add(f *Fiber) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f.index = len(r.fibers)
	r.fibers = append(r.fibers, f)
}

func (r *registry) remove(f *Fiber) {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := len(r.fibers) - 1
	r.fibers[f.index], r.fibers[last].index = r.fibers[last], f.index
	r.fibers[last] = nil
	r.fibers = r.fibers[:last]
}

// all lists them.
func (r *registry) all() []*Fiber {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.fibers)
}

// onWorker lists the fibers that run on w, or have run there last.
func (r *registry) onWorker(w *Worker) []*Fiber {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []*Fiber
	for _, f := range r.fibers {
		if f.worker.Load() == w {
			list = append(list, f)
		}
	}
	return list
}

// anyYielded reports whether one of those is blocked without a deadline.
func (r *registry) anyYielded(w *Worker) bool {
	return slices.ContainsFunc(r.onWorker(w), func(f *Fiber) bool { return f.load().state() == Yielded })
}

// mostEnded is how many fibers that have ended a worker keeps. To drop an identity
// is a round trip to another goroutine, once for all that are closed together.
const mostEnded = 128

// closeFibers is replaced by tests.
var closeFibers = fiber.CloseAll

// reapMany is reap when enough have ended.
func (w *Worker) reapMany() {
	if len(w.local.ended) >= mostEnded {
		w.reap()
	}
}

// reap gives back the stacks of the fibers that have ended. It blocks while identities are
// dropped. The worker's thread must call it.
func (w *Worker) reap() {
	o := &w.local
	if len(o.ended) == 0 {
		return
	}
	if err := closeFibers(o.ended...); err != nil {
		panic(err)
	}
	clear(o.ended)
	o.ended = o.ended[:0]
}

// A worker is exhausted while it can make no fiber that a task needs: no memory is left, say. It goes on with what
// needs no new fiber, leaves tasks to other workers, and tries again after a pause.

// retryPause is how long a worker waits before it tries once more to make a fiber.
const retryPause = time.Millisecond

// exhaust records that the worker can make no fiber because of err. From then on it leaves to other workers the
// tasks that these may begin.
func (w *Worker) exhaust(err error) {
	w.nextDeadline.Store(int64(w.deadline()))
	if w.exhausted.Swap(&err) == nil {
		w.rests.add(1)
		w.scheduler.tell()
	}
	if check := w.check.Load(); check != nil {
		w.answer(w.local.current, check)
	}
	if w.mode == multiThreaded && w.scheduler.policy.has(w) {
		w.scheduler.policy.wakeOther(w)
	}
}

// notExhausted notes that the worker goes on, if it has been exhausted.
func (w *Worker) notExhausted() {
	if w.exhausted.Load() != nil {
		w.exhausted.Store(nil)
	}
}

// mayBegin reports whether the worker can begin tasks of others: it is multi-threaded, and
// could make a fiber for them when it last had to.
func (w *Worker) mayBegin() bool { return w.mode == multiThreaded && w.exhausted.Load() == nil }

// recovers ends the exhaustion of a worker that is about to sleep: if no task is left that it could not begin, since it
// has to be woken again for fibers that are ready, and for tasks that come later; or if it can make a fiber now. It
// reports whether it did.
func (w *Worker) recovers() bool {
	if w.mode != multiThreaded || w.anyPending() && w.addIdle() != nil {
		return false
	}
	w.notExhausted()
	return true
}

// anyPending reports whether the policy has anything, for whichever worker.
func (w *Worker) anyPending() bool {
	s := w.scheduler
	s.skipping.Lock()
	defer s.skipping.Unlock()
	return s.policy.shared() > 0 ||
		slices.ContainsFunc(s.workers, func(w *Worker) bool { return s.policy.pending(w) > 0 })
}

// skipTasks returns a fiber that the policy has, or nil, if the worker could make no fiber for tasks when it last
// had to. Tasks that come first are put behind.
func (w *Worker) skipTasks() *Fiber {
	if w.exhausted.Load() == nil || !w.sharesFibers() {
		return nil
	}
	for range w.scheduler.policy.shared() + w.scheduler.policy.pending(w) {
		if f, more := w.skipTask(); f != nil || !more {
			return f
		}
	}
	return nil
}

// skipTask is skipTasks for what comes first. It reports whether it has put a task behind.
//
// The task is in no queue for a moment. Threads that must not take a queue for empty then hold the same lock: without
// it, a worker that finds no task goes to sleep and is woken for the task again, and no survey finds that nothing
// happens.
func (w *Worker) skipTask() (f *Fiber, skipped bool) {
	s := w.scheduler
	s.skipping.Lock()
	defer s.skipping.Unlock()
	r, ok := s.policy.next(w)
	switch {
	case !ok:
		return nil, false
	case r.fiber != nil:
		r.fiber.worker.Store(w)
		w.notExhausted()
		return r.fiber, false
	}
	w.putBack(r.task)
	return nil, true
}

// hasTaskToSkip is hasTask for an exhausted worker that has found none: another one may just be putting a task back.
func (w *Worker) hasTaskToSkip() bool {
	s := w.scheduler
	s.skipping.Lock()
	defer s.skipping.Unlock()
	return s.policy.has(w)
}

// offerMain adds the main fiber to the idle ones, if it has left all tasks to others: no other fiber can be made.
func (w *Worker) offerMain() {
	if main := w.local.main; w.mode == multiThreaded && main.load().state() == Idle {
		w.notExhausted()
		w.pushIdle(main)
	}
}

// onlyMainIsLeft reports whether f, which has no task, is the main fiber and may begin one.
func (w *Worker) onlyMainIsLeft(f *Fiber) bool {
	return f == w.local.main && w.mode == multiThreaded && f.load().state() == Running
}
