package sched

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"fiberlab/fiber"
)

// takeIdle takes the idle fiber that ran last; there must be one.
func (q *work) takeIdle() *Fiber {
	last := len(q.idle) - 1
	f := q.idle[last]
	q.idle[last] = nil
	q.idle = q.idle[:last]
	return f
}

// removeIdle takes f out of the idle fibers, if it is among them.
func (q *work) removeIdle(f *Fiber) {
	if i := slices.Index(q.idle, f); i >= 0 {
		q.idle = slices.Delete(q.idle, i, i+1)
	}
}

// rest is how long a worker waits before it tries once more to make a fiber.
const rest = time.Millisecond

// newFiber is replaced by tests.
var newFiber = fiber.New

// makeIdle adds a new fiber to the idle ones. If that cannot be done it tells so, and waits
// until it is time for the next attempt. The lock must be held; it is released meanwhile.
func (w *Worker) makeIdle() {
	q := &w.work
	q.mustHold("makeIdle")
	f := &Fiber{worker: w, state: Idle, id: int(q.counts.made) + 1}
	q.unlock()
	cfg := &w.scheduler.cfg
	var err error
	f.fiber, err = newFiber(fiber.Config{
		Name: w.name + " fiber " + strconv.Itoa(f.id), Backend: cfg.Backend, StackSize: cfg.StackSize,
		GuardPages: cfg.GuardPages,
	}, f.main)
	if err != nil {
		err = fmt.Errorf("%s cannot make a fiber to go on with while a task is blocked: %w", w.name, err)
		cfg.Exhausted(err)
		time.Sleep(rest)
		q.lock()
		w.exhaust(err)
		return
	}
	f.fiber.SetValue(f)
	q.lock()
	q.exhausted = nil
	q.counts.made++
	f.index = len(q.all)
	q.all = append(q.all, f)
	q.idle = append(q.idle, f)
}

// exhaust notes that the worker can make no fiber because of err. What others may begin is
// left to them. The lock must be held.
func (w *Worker) exhaust(err error) {
	q := &w.work
	q.mustHold("exhaust")
	if q.exhausted == nil {
		q.rests++
		w.scheduler.tell()
	}
	q.exhausted = err
	if q.inquiry != nil {
		w.answer()
	}
	if w.mode == multiThreaded && (!q.tasks.Empty() || w.inbox.forThieves() > 0) {
		w.scheduler.rouse()
	}
}

// main is the body of every fiber that a worker makes. It is entered with the
// worker's lock held, and returns with it held: the main fiber gets the thread then,
// and hands it on to the current one.
func (f *Fiber) main() {
	w := f.worker
	f.residue = fiber.ResidueHere()
	f.task = f.fiber.Task()
	if !f.ending {
		w.change(f, Running, WhyCarry)
		w.run()
		if f.state != Idle {
			w.change(f, Idle, WhyEnd)
		}
	}
	q := &w.work
	if w.current == f {
		w.current = w.main
		q.removeIdle(w.main)
	}
	last := len(q.all) - 1
	q.all[f.index], q.all[last].index = q.all[last], f.index
	q.all = q.all[:last]
	w.ended = append(w.ended, f.fiber)
}

// mostEnded is how many fibers that have ended a worker keeps, and ends in a row with its lock
// held. To drop an identity is a round trip to another goroutine, once for all that are closed together.
const mostEnded = 128

// closeFibers is replaced by tests.
var closeFibers = fiber.CloseAll

// reap gives back the stacks of the fibers that have ended. It blocks while identities are
// dropped. The worker's own thread must call it, and the lock must not be held.
func (w *Worker) reap() {
	w.work.mustNotHold("reap")
	if err := closeFibers(w.ended...); err != nil {
		panic(err)
	}
	clear(w.ended)
	w.ended = w.ended[:0]
}
