package sched

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"time"

	"fiberlab/fiber"
	"fiberlab/internal/release"
	"fiberlab/sched/park"
)

// check is the question to a worker where its blocked fibers wait. The worker answers
// while it has nothing to run. What is in here is the worker's until done is closed.
type check struct {
	done    chan struct{} // closed when the worker has answered
	answers []answer
}

// answer is what a blocked fiber says of itself.
type answer struct {
	task  nameNumber
	fiber *Fiber
	where []uintptr    // its stack
	self  uintptr      // see fiber.Self; 0: unknown
	waits park.Awaited // may be nil
}

// checkLimit is how long one waits for the answer of a worker.
const checkLimit = 10 * time.Second

// ask has the workers, or the only one if that is not nil, list their blocked fibers. It
// returns nil if one has not answered, since it has found something to run. It blocks.
func (s *Scheduler) ask(only *Worker) *Deadlock {
	s.asking.Lock()
	defer s.asking.Unlock()
	workers := []*Worker{only}
	if only == nil {
		workers = s.everyWorker()
	}
	d := &Deadlock{Scheduler: s.cfg.Name}
	var answers []answer
	limit := time.After(checkLimit)
	for _, w := range workers {
		if why := w.exhausted.Load(); why != nil {
			if n := w.pendingOwn() + w.pendingOpen() + s.policy.shared(); n > 0 {
				d.Exhausted = append(d.Exhausted, fmt.Errorf("%d tasks cannot begin: %w", n, *why))
			}
		}
		if !s.fibers.anyYielded(w) {
			continue
		}
		some, inTime := w.listBlocked(limit)
		if !inTime {
			return nil
		}
		answers = append(answers, some...)
	}
	d.Fibers = describe(answers)
	if len(d.Fibers)+len(d.Exhausted) == 0 {
		return nil
	}
	return d
}

// listBlocked has the worker list its blocked fibers. It returns false if the worker has not answered
// within the limit. The scheduler's asking must be held.
func (w *Worker) listBlocked(limit <-chan time.Time) (answers []answer, inTime bool) {
	c := &check{done: make(chan struct{})}
	w.check.Swap(c) // see eventcount
	w.driver.notify()
	select {
	case <-c.done:
		return c.answers, true
	case <-limit:
		w.check.Store(nil)
		return nil, false
	}
}

// answer does what a deadlock check wants. f is the calling fiber. Each blocked fiber is entered, so that it can
// say itself where it waits, and hands the thread back at once. If something to run comes meanwhile, the
// answer is short.
func (w *Worker) answer(f *Fiber, c *check) {
	o := &w.own
	for _, blocked := range w.scheduler.fibers.onWorker(w) {
		if w.poll(); w.hasOwn() || w.check.Load() != c {
			break
		}
		old := blocked.load()
		if old.state() != Yielded {
			continue
		}
		switch {
		case blocked == f:
			f.tell()
		case old&unpublished != 0 || !blocked.mark(old, old|unpublished):
			continue
		case blocked.worker.Load() != w: // it has migrated since it was listed
			blocked.publish()
			continue
		default:
			w.askFiber(f, blocked)
			blocked.publish()
		}
		c.answers = append(c.answers, o.answered)
	}
	o.answered = answer{}
	if w.check.CompareAndSwap(c, nil) {
		close(c.done)
	}
}

// askFiber has blocked, which no other thread can resume, say where it waits. If f, the calling fiber, cannot leave its
// thread, the answer has no place.
func (w *Worker) askFiber(f, blocked *Fiber) {
	o := &w.own
	o.asked, o.asker = blocked, f
	switch err := f.fiber.SwitchTo(blocked.fiber); {
	case errors.Is(err, fiber.ErrLocked):
		o.asked = nil
		name, _ := blocked.taskName()
		o.answered = answer{fiber: blocked, task: name, waits: blocked.awaits}
	case err != nil:
		panic(fmt.Sprintf("sched: %v cannot enter %v: %v", f, blocked, err))
	}
	release.Store(&w.running, f.self.Load()) // blocked, which may go on elsewhere soon, has put itself there
}

// tell leaves the answer of f, which must be the calling fiber.
func (f *Fiber) tell() {
	var pcs [64]uintptr
	name, _ := f.taskName()
	f.worker.Load().own.answered = answer{fiber: f, task: name, self: fiber.Self(), waits: f.awaits,
		where: append([]uintptr(nil), pcs[:runtime.Callers(3, pcs[:])]...)}
}

// describe puts answers into words. Fibers with the same stack share its frames.
func describe(answers []answer) []Blocked {
	type place struct {
		stack []runtime.Frame
		call  string
	}
	places := make(map[string]place)
	names := make(map[uintptr]string)
	for _, a := range answers {
		if a.self != 0 {
			names[a.self] = fmt.Sprintf("worker %d fiber %d", a.fiber.maker.id, a.fiber.id)
		}
	}
	var list []Blocked
	var key []byte
	for _, a := range answers {
		key = key[:0]
		for _, pc := range a.where {
			key = binary.NativeEndian.AppendUint64(key, uint64(pc))
		}
		p, known := places[string(key)]
		if !known {
			p.stack, p.call = frames(a.where)
			places[string(key)] = p
		}
		b := Blocked{Worker: a.fiber.maker.id, Fiber: a.fiber.id, Task: a.fiber.maker.scheduler.names.of(a.task), State: Yielded, Stack: p.stack, Call: p.call}
		if a.waits != nil {
			what, holder := a.waits.Awaited()
			b.For = what
			if holder != 0 && holder == a.self {
				b.For += ", which it holds itself,"
			} else if name := names[holder]; name != "" {
				b.For += ", which " + name + " holds,"
			} else if holder != 0 {
				b.For += ", which none of these holds,"
			}
		}
		list = append(list, b)
	}
	return list
}
