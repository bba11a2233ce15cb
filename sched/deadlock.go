package sched

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"fiberlab/internal/clock"
	"fiberlab/internal/goroutine"
	"fiberlab/sched/park"
	"fiberlab/sched/report"
)

// What Close, Unbind and the watchdog report.
type (
	Deadlock    = report.Deadlock
	FiberReport = report.Fiber
	Stall       = report.Stall
)

// A scheduler is quiescent when all its workers sleep at one moment, and no mailbox holds a message. Then nothing in it
// changes by itself. A worker that sleeps has found nothing to run. Only a worker that runs, a deadline, a device, a
// blocking call or a thread outside can bring it something. This one condition answers both questions: whether all is
// over, and whether the rest waits in vain.
//
// A survey visits the workers one after the other, which is no single moment. So it visits them twice. It reports
// quiescence if both visits have found the same: each worker asleep, and no worker out of work more often than before.
// Then no worker ran anything at the moment between the two rounds. Otherwise it would have run out of work later, and
// counted that before it slept and the second visit saw it asleep. A worker that wakes and finds nothing does not
// count.
//
// So the order of a visit matters: first the mailbox, then whether the worker sleeps, then the count. A message that
// the mailbox held at that moment is found there, or the worker has taken it and has run since. The same holds for what
// the policy's queues hold. sched/models/quiescence.pml checks this.

// survey is what a scheduler's workers were doing at one moment. If it is quiet, no worker can begin the pending tasks.
type survey struct {
	quiet   bool   // quiescent
	dry     uint64 // how often workers had run out of work: as long as it stays the same, none has run anything
	calls   int64  // blocking calls that are under way; a caller may have given its call up
	workers int    // that there have been
	bound   int    // that are goroutines'

	yielded int           // fibers blocked without a deadline
	waiting int           // fibers blocked with one
	next    clock.Instant // the earliest deadline
	pending int           // tasks that have not begun
}

// over reports whether nothing can happen any more, and no fiber or task waits for anything.
func (v *survey) over() bool { return v.quiet && v.yielded+v.waiting+v.pending == 0 }

// nearDeadline bounds, together with the give-up limit, which deadlines put off a deadlock
// report: a deadline that is further ahead than both does not.
const nearDeadline = clock.Instant(time.Second)

// stuck reports whether fibers or tasks wait, and only a device, a thread outside or a far deadline can change that.
func (v *survey) stuck(limit clock.Instant) bool {
	return v.quiet && v.calls == 0 && v.yielded+v.pending > 0 && v.next > clock.Now()+max(nearDeadline, limit)
}

// survey visits all workers, twice if they were quiet. Any thread may call it, but must not hold s.mu.
func (s *Scheduler) survey() survey {
	v := s.visit()
	if v.quiet && s.visit() != v {
		v.quiet = false
	}
	return v
}

// visit visits all workers, one after the other.
func (s *Scheduler) visit() survey {
	s.mu.Lock()
	v := survey{quiet: true, next: clock.Never, workers: s.numbers, bound: len(s.bound)}
	workers := slices.Concat(s.workers, s.bound)
	s.mu.Unlock()
	v.pending = s.policy.pending(nil)
	var blocked, waiting uint64
	for _, w := range workers {
		if isClosed(w.done) { // New has failed: w could not begin
			continue
		}
		v.pending += int(w.pinned.load())
		if !w.mailbox.Empty() {
			v.pending++ // mailed would also count a message that a closed mailbox is about to refuse
			v.quiet = false
		}
		v.quiet = v.quiet && w.word.Asleep()
		v.next = min(v.next, w.timers.next())
		waiting += w.waiting.load()
		blocked += w.blocked.load()
		v.dry += w.dry.load()
	}
	v.waiting, v.yielded = int(waiting), int(blocked-waiting)
	v.calls = s.shared.BlockingCalls.Load()
	return v
}

// stillness measures for how long something has been the same. Of the time between two looks it counts a step at most.
// So a program that was stopped, or had no processor, has not been still for all that time. A thread that is about to
// end the stillness gets as many chances to run as the watcher. One goroutine uses a stillness.
type stillness[T comparable] struct {
	seen   T             // at the last look
	looked clock.Instant // when that was
	lasts  clock.Instant // for how long it has been so
}

// look takes v, the present value, and returns for how long it has been the same. step is the most that one look adds.
func (q *stillness[T]) look(v T, step clock.Instant) clock.Instant {
	now := clock.Now()
	if v != q.seen {
		q.seen, q.lasts = v, 0
	} else {
		q.lasts += min(now-q.looked, step)
	}
	q.looked = now
	return q.lasts
}

// deadlockJudge reports a deadlock once the scheduler has been stuck for as long as limit. One goroutine uses it.
type deadlockJudge struct {
	s       *Scheduler
	only    *Worker // whose fibers and tasks are reported; nil: all
	certain bool    // there is no deadlock if a deadline, or a goroutine outside, may end it
	limit   clock.Instant
	more    clock.Instant // how much longer than the limit it must be stuck
	stillness[survey]
	reported survey // of the last deadlock that was reported
}

// report makes a survey, and calls to(deadlock) if judge finds one, but only once for equal surveys.
func (o *deadlockJudge) report(to func(*Deadlock)) {
	v := o.s.survey()
	if v == o.reported {
		return
	}
	if deadlock := o.judge(v); deadlock != nil {
		o.reported = v
		to(deadlock)
	}
}

// judge returns a deadlock if v, a new survey, is stuck and has lasted for limit, and no device is at work; else nil.
func (o *deadlockJudge) judge(v survey) *Deadlock {
	if !v.stuck(o.limit) || o.s.devicesPending() || o.certain && v.waiting > 0 {
		return nil
	}
	if v != o.seen {
		o.more = 0
	}
	if o.look(v, stepOf(o.limit)) < o.limit+o.more {
		return nil
	}
	if o.certain && o.s.outsideMayWake() {
		o.more += o.more + o.limit // outsideMayWake stops the program, so the time grows
		return nil
	}
	d := &Deadlock{Scheduler: o.s.cfg.Name, After: time.Duration(o.limit), Later: v.waiting, Tasks: v.pending}
	if o.only != nil {
		d.Tasks = o.only.pendingLocal()
	}
	if d.Fibers = describe(o.s.fibers.list(o.only)); len(d.Fibers)+d.Tasks == 0 || o.s.survey() != v {
		return nil
	}
	return d
}

// looksPerLimit is the number of looks within one limit, at least.
const looksPerLimit = 4

// The bounds of the time between two looks.
const (
	shortestStep = clock.Instant(50 * time.Microsecond)
	longestStep  = clock.Instant(500 * time.Millisecond)
)

// stepOf is the time between two looks of a judge with that limit.
func stepOf(limit clock.Instant) clock.Instant {
	return min(max(limit/looksPerLimit, shortestStep), longestStep)
}

// pause blocks for a step, or until there is news. It returns false, at once, when over is closed.
func pause(step clock.Instant, news, over <-chan struct{}) bool {
	timer := time.NewTimer(time.Duration(step))
	defer timer.Stop()
	select {
	case <-over:
		return false
	case <-news:
	case <-timer.C:
	}
	return true
}

// describe reports which of the fibers are blocked without a deadline.
func describe(fibers []*Fiber) (list []FiberReport) {
	slices.SortFunc(fibers, func(a, b *Fiber) int { return cmp.Or(a.maker.id-b.maker.id, int(a.id-b.id)) })
	names := make(map[uintptr]string) // of fibers that may hold what others wait for
	for _, f := range fibers {
		names[uintptr(f.self.Load())] = fmt.Sprintf("worker %d fiber %d", f.maker.id, f.id)
	}
	var traces map[uint64]goroutine.Trace
	for _, f := range fibers {
		task, waits, blocked := f.awaited()
		if !blocked {
			continue
		}
		if traces == nil { // not before, since it stops the program
			traces, _ = report.Traces()
		}
		b := FiberReport{Worker: f.maker.id, Fiber: int(f.id), Task: task}
		b.Stack, b.Call = report.WaitIn(traces[f.goroutine].Frames())
		if waits != nil {
			what, holder := waits.Awaited()
			b.For = what
			if holder != 0 && holder == uintptr(f.self.Load()) {
				b.For += ", which it holds itself,"
			} else if name := names[holder]; holder != 0 && name != "" {
				b.For += ", which " + name + " holds,"
			} else if holder != 0 {
				b.For += ", which none of these holds,"
			}
		}
		list = append(list, b)
	}
	return list
}

// awaited returns the name of the task of f, and f.awaits, if f is blocked without a deadline. Any thread may call it.
// While the word of f stays the same, f does not go on and change what is read here.
//
//go:norace
func (f *Fiber) awaited() (task string, waits park.Awaited, blocked bool) {
	old := f.load()
	if old.state() != Yielded || old&notified != 0 {
		return "", nil, false
	}
	if name := f.name.Load(); name != nil {
		task = *name
	}
	waits = f.awaits // read before mark compares the word
	return task, waits, f.mark(old, old)
}
