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
	w.own.idle = append(w.own.idle, f)
	w.idling.add(1)
}

// takeIdle takes the idle fiber that ran last; there must be one.
func (w *Worker) takeIdle() *Fiber {
	o := &w.own
	last := len(o.idle) - 1
	f := o.idle[last]
	o.idle[last] = nil
	o.idle = o.idle[:last]
	w.idling.add(^uint64(0))
	return f
}

// removeIdle takes f out of the idle fibers, if it is among them.
func (w *Worker) removeIdle(f *Fiber) {
	if i := slices.Index(w.own.idle, f); i >= 0 {
		w.own.idle = slices.Delete(w.own.idle, i, i+1)
		w.idling.add(^uint64(0))
	}
}

// newFiber is replaced by tests.
var newFiber = fiber.New

// makeIdle adds a new fiber to the idle ones. If that cannot be done it tells so, and waits
// until it is time for the next attempt.
func (w *Worker) makeIdle() {
	w.mustOwn("makeIdle")
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
	f.letter.fiber = f
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
	if o := &w.own; o.current == f {
		o.current = o.main
		w.removeIdle(o.main)
	}
	w.running.Store(0) // on the goroutine backend another goroutine may get this one's g before the main fiber has arrived
	f.self.Store(0)
	w.scheduler.fibers.remove(f)
	w.gone.add(1)
	w.own.ended = append(w.own.ended, f.fiber)
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

// anyYielded tells whether one of those is blocked without a deadline.
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
	if len(w.own.ended) >= mostEnded {
		w.reap()
	}
}

// reap gives back the stacks of the fibers that have ended. It blocks while identities are
// dropped. The worker's thread must call it.
func (w *Worker) reap() {
	o := &w.own
	if len(o.ended) == 0 {
		return
	}
	if err := closeFibers(o.ended...); err != nil {
		panic(err)
	}
	clear(o.ended)
	o.ended = o.ended[:0]
}
