package sched

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"fiberlab/fiber"
	"fiberlab/sched/park"
)

// inquiry is the question to a worker where its blocked fibers wait. The worker answers
// while it has nothing to run. Its lock guards what is in here until done is closed.
type inquiry struct {
	done    chan struct{} // closed when the worker has answered
	answers []answer
}

// answer is what a blocked fiber says of itself.
type answer struct {
	task  nameNumber
	fiber *Fiber
	where []uintptr    // its stack
	self  uintptr      // see fiber.Self
	waits park.Awaited // may be nil
}

// mostAsked is how many fibers are asked while the worker's lock is held, which takes some
// microseconds for each.
const mostAsked = 16

// inquiryLimit is how long one waits for the answer of a worker.
const inquiryLimit = 10 * time.Second

// ask has the workers, or the only one if that is not nil, list their blocked fibers. It
// returns nil if one has not answered, since it has found something to run. No worker's lock
// must be held; ask blocks.
func (s *Scheduler) ask(only *Worker) *Deadlock {
	s.asking.Lock()
	defer s.asking.Unlock()
	workers := []*Worker{only}
	if only == nil {
		workers = s.everyWorker()
		slices.SortFunc(workers, func(a, b *Worker) int { return a.id - b.id })
	}
	d := &Deadlock{Scheduler: s.cfg.Name}
	var answers []answer
	limit := time.After(inquiryLimit)
	for _, w := range workers {
		q := &w.work
		i := &inquiry{done: make(chan struct{})}
		q.lock()
		if q.exhausted != nil {
			if n := q.tasks.Len() + q.pinned.Len() + int(w.inbox.waiting.Load()); n > 0 {
				d.Exhausted = append(d.Exhausted, fmt.Errorf("%d tasks cannot begin: %w", n, q.exhausted))
			}
		}
		if q.blocked > 0 {
			q.inquiry = i
		} else {
			close(i.done)
		}
		q.unlock()
		w.bell.ring()
		select {
		case <-i.done:
			answers = append(answers, i.answers...)
		case <-limit:
			q.lock()
			q.inquiry = nil
			q.unlock()
			return nil
		}
	}
	d.Fibers = describe(answers)
	if len(d.Fibers)+len(d.Exhausted) == 0 {
		return nil
	}
	return d
}

// answer does what an inquiry wants. Each blocked fiber is entered, so that it can
// say itself where it waits, and hands the thread back at once. The lock must be held; it is
// released now and then. If something to run comes meanwhile, the answer is short.
func (w *Worker) answer() {
	w.work.mustHold("answer")
	q := &w.work
	i := q.inquiry
	for n, f := range q.all { // only this thread changes it
		if n%mostAsked == mostAsked-1 {
			q.unlock()
			q.lock()
		}
		if q.inquiry != i || !q.fibers.Empty() {
			break
		}
		if f.state != Yielded {
			continue
		}
		if f == w.current {
			f.tell()
		} else {
			w.asked, w.asker = f, w.current
			w.enter(w.current, f)
		}
		i.answers = append(i.answers, w.told)
	}
	w.told = answer{}
	if q.inquiry == i {
		q.inquiry = nil
		close(i.done)
	}
}

// tell leaves the answer of f, which must be the calling fiber.
func (f *Fiber) tell() {
	var pcs [64]uintptr
	f.worker.told = answer{fiber: f, task: f.taskName, self: fiber.Self(), waits: f.awaits,
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
		names[a.self] = fmt.Sprintf("worker %d fiber %d", a.fiber.worker.id, a.fiber.id)
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
		b := Blocked{Worker: a.fiber.worker.id, Fiber: a.fiber.id, Task: a.fiber.worker.scheduler.names.of(a.task), State: Yielded, Stack: p.stack, Call: p.call}
		if a.waits != nil {
			what, holder := a.waits.Awaited()
			b.For = what
			if name := names[holder]; name != "" {
				b.For += ", which " + name + " holds,"
			} else if holder != 0 {
				b.For += ", which one holds who is none of these,"
			}
		}
		list = append(list, b)
	}
	return list
}

// The packages whose functions are the wait itself, and not the place of it.
const (
	ownPackage        = "fiberlab/sched."
	primitivesPackage = "fiberlab/sched/fibersync."
)

// frames names the places of a stack, without those of this package and of the primitives,
// and the method of theirs that was called.
func frames(pcs []uintptr) (list []runtime.Frame, call string) {
	for walk := runtime.CallersFrames(pcs); ; {
		f, more := walk.Next()
		switch {
		case strings.HasPrefix(f.Function, ownPackage), strings.HasPrefix(f.Function, primitivesPackage):
			if len(list) == 0 {
				call = strings.TrimPrefix(f.Function, "fiberlab/sched/")
				call = strings.TrimPrefix(call, "fiberlab/")
			}
		case f.Function != "":
			list = append(list, f)
		}
		if !more {
			return list, call
		}
	}
}
