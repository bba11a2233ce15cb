package sched

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"fiberlab/fiber"
	"fiberlab/internal/clock"
)

// pushIdle adds f, which is Idle, to the idle fibers. A main fiber is none of them: it begins no task.
func (w *Worker) pushIdle(f *Fiber) {
	if f != w.local.main {
		w.local.idle = append(w.local.idle, f)
		w.idling.add(1)
	}
}

// holdsIdle reports whether an idle fiber can run the worker when the calling fiber waits. The main fiber may be it.
func (w *Worker) holdsIdle() bool {
	return len(w.local.idle) > 0 || w.local.main.load().state() == Idle
}

// takeIdle takes the fiber that became idle last, or the main fiber if no other is idle. holdsIdle must be true.
func (w *Worker) takeIdle() *Fiber {
	o := &w.local
	last := len(o.idle) - 1
	if last < 0 {
		return o.main
	}
	f := o.idle[last]
	o.idle[last] = nil
	o.idle = o.idle[:last]
	w.idling.add(^uint64(0))
	return f
}

// newFiber is replaced by tests.
var newFiber = fiber.New

// retryPause is how long a worker that could make no fiber waits until it tries again.
const retryPause = time.Millisecond

// canBegin reports whether the worker can begin a task. It needs an idle fiber, to take over if the task blocks; if it
// has none, canBegin makes one. If that fails, the worker is short: it leaves tasks where they are, and runs ready
// fibers. canBegin then wakes another worker for tasks that others can take. The worker calls it on its thread.
func (w *Worker) canBegin() bool {
	o := &w.local
	if !w.holdsIdle() && !w.makeIdle() {
		if w.mode == multiThreaded && w.scheduler.policy.has(w) {
			w.scheduler.policy.wakeOther(w)
		}
		return false
	}
	o.retry = 0
	if o.told && len(o.idle) > 0 { // the main fiber begins no task, so it does not end a shortage
		o.told = false
	}
	return true
}

// short reports whether the worker's last attempt to make a fiber failed, and canBegin has found no idle fiber since.
func (w *Worker) short() bool { return w.local.retry != 0 }

// makeIdle adds a new fiber to the idle ones, and returns true if it could. After a failure the worker is short, and
// makeIdle does not try again before retryPause has passed. It gives the first failure of a shortage to
// Config.Exhausted. The worker calls it on its thread.
func (w *Worker) makeIdle() bool {
	if w.short() && clock.Now() < w.local.retry {
		return false
	}
	w.mustRunCaller("makeIdle")
	err := w.addIdle()
	if err == nil {
		return true
	}
	w.local.retry = clock.After(retryPause) // before the call: it must not lead here again
	if !w.local.told {
		w.local.told = true
		why := fmt.Errorf("%s cannot make a fiber to go on with while a task is blocked: %w", w.name, err)
		mustReturn("Config.Exhausted", w, func() { w.scheduler.cfg.Exhausted(why) })
	}
	return false
}

// passTasks is for a worker that is short, so it can begin no task. It takes the first fiber out of the policy's queue,
// even if tasks wait before it, and adds it to the worker's ready fibers. sharesFibers must be true.
func (w *Worker) passTasks() {
	if f := w.scheduler.migration.nextFiber(w, true); f != nil {
		w.takesFiber(f)
		w.local.ready.Push(f)
	}
}

// addIdle adds a new fiber to the idle ones, or returns why none can be made.
func (w *Worker) addIdle() error {
	s := w.scheduler
	f := &Fiber{maker: w, record: w.record, id: int32(w.made.load()) + 1}
	f.message.Value = ofFiber(f)
	f.worker.Store(w)
	if !w.sharesFibers() {
		f.home = w
	}
	var err error
	f.fiber, err = newFiber(fiber.Config{
		Name: f.String(), Backend: s.cfg.Backend, StackSize: s.cfg.StackSize, GuardPages: s.cfg.GuardPages,
	}, f.body)
	if err != nil {
		return err
	}
	f.fiber.SetValue((*parker)(f))
	w.made.add(1)
	s.fibers.add(f)
	w.pushIdle(f)
	return nil
}

// body is the function of every fiber that a worker makes. When it returns, the main fiber of the worker gets the
// thread, and hands it on to the current one.
func (f *Fiber) body() {
	f.goroutine = fiber.GoroutineNumber()
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
	}
	// on the goroutine backend, another goroutine may get this fiber.Self before the main fiber arrives: see running
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
	f.index = int32(len(r.fibers))
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

// list returns a copy of the list. If w is not nil, it has only the fibers that run on w, or ran there last.
func (r *registry) list(w *Worker) []*Fiber {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(r.fibers), func(f *Fiber) bool { return w != nil && f.worker.Load() != w })
}

// mostEnded is how many fibers may have ended before the worker closes them. To drop their identities takes one round
// trip to another goroutine, however many are closed together.
const mostEnded = 128

// closeFibers is replaced by tests.
var closeFibers = fiber.CloseAll

// reap gives back the stacks of the fibers that have ended. It may block the worker's thread for a round trip to
// another goroutine; see mostEnded. The worker calls it on its thread.
func (w *Worker) reap() {
	o := &w.local
	if len(o.ended) == 0 {
		return
	}
	must(closeFibers(o.ended...))
	clear(o.ended)
	o.ended = o.ended[:0]
}
