package sched

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"fiberlab/internal/clock"
)

// survey is what a scheduler's workers were doing at one moment.
type survey struct {
	quiet   bool   // all slept, or could make no fiber, and had nothing that they could run
	rests   uint64 // how often they had run out of work: as long as it stays the same, none has run anything
	calls   int64  // blocking calls that are under way; a caller may have given its call up
	workers int    // that there have been
	bound   int    // that are goroutines'

	yielded int           // fibers blocked without a deadline
	waiting int           // fibers blocked with one
	next    clock.Instant // the earliest deadline
	pending int           // tasks that have not begun, where they cannot
}

// over reports whether nothing can happen any more, and no fiber or task waits for anything.
func (v *survey) over() bool { return v.quiet && v.yielded+v.waiting+v.pending == 0 }

// nearDeadline bounds, together with the give-up limit, which deadlines put off a deadlock
// report: a deadline that lies further ahead than both does not.
const nearDeadline = clock.Instant(time.Second)

// stuck reports whether fibers or tasks wait that only a device, or a thread outside of the scheduler, could help.
func (v *survey) stuck(limit clock.Instant) bool {
	return v.quiet && v.calls == 0 && v.yielded+v.pending > 0 && v.next > clock.Now()+max(nearDeadline, limit)
}

// survey visits all workers twice. If all were quiet and none has run anything in between,
// they were quiet at one and the same moment, and no worker can wake another.
//
// If only is not nil, what is blocked and pending is counted on that worker alone.
func (s *Scheduler) survey(only *Worker) survey {
	v := s.pass(only)
	if v.quiet && s.pass(only) != v {
		v.quiet = false
	}
	return v
}

// everyWorker lists the workers by number, those of the goroutines that are bound last.
func (s *Scheduler) everyWorker() []*Worker {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.listWorkers()
}

// listWorkers is everyWorker for a caller that holds the scheduler's mu.
func (s *Scheduler) listWorkers() []*Worker {
	list := append([]*Worker(nil), s.workers...)
	for w := range s.bound {
		list = append(list, w)
	}
	slices.SortFunc(list[len(s.workers):], func(a, b *Worker) int { return a.id - b.id })
	return list
}

// pass visits all workers, one after the other.
func (s *Scheduler) pass(only *Worker) survey {
	s.mu.Lock()
	v := survey{quiet: true, next: clock.Never, workers: s.numbers, bound: len(s.bound)}
	s.mu.Unlock()
	shared := s.policy.shared()
	var blocked, waiting uint64
	for _, w := range s.everyWorker() {
		v.rests += w.rests.load()
		v.next = min(v.next, w.timers.next(), clock.Instant(w.nextDeadline.Load()))
		pending := w.pendingOpen() + int(w.pinned.load())
		if !w.mailbox.empty() {
			pending++ // mailbox.tasks would also count a message that a closed mailbox is about to refuse
		}
		v.quiet = v.quiet && w.word.Asleep() && w.mailbox.empty()
		if only == nil || only == w {
			waiting += w.waiting.load()
			blocked += w.blocked.load()
			v.pending += pending
		}
	}
	if only == nil {
		v.pending += shared
	}
	v.waiting, v.yielded = int(waiting), int(blocked-waiting)
	v.calls = s.shared.BlockingCalls.Load()
	return v
}

// tell lets Close know that a worker has come to rest, or has been unbound. It does not block.
func (s *Scheduler) tell() {
	if s.listening.Load() {
		select {
		case s.news <- struct{}{}:
		default:
		}
	}
}

// deadlockJudge reports a deadlock once the scheduler has been stuck for as long as its limit.
//
// It counts looks and not the clock: between two looks no more than a step counts, however late the second one comes.
// So a program that was stopped, or had no processor, has not been quiet for that time. A thread that is about to
// notify a fiber gets as many chances as the judge itself.
type deadlockJudge struct {
	s       *Scheduler
	only    *Worker       // nil: all
	certain bool          // there is no deadlock if a deadline, or a goroutine outside, may end it
	limit   clock.Instant // less than 0: without end
	seen    survey        // the last that was stuck
	looked  clock.Instant // when that was
	quiet   clock.Instant // for how long it has been so
	more    clock.Instant // how much longer than the limit it must be so
	found   *Deadlock
}

// judge returns a deadlock if v, the result of a survey just now, has stayed the same for long enough.
// Otherwise it says how soon to come back if nothing happens; less than 0 is never.
func (o *deadlockJudge) judge(v survey) (*Deadlock, time.Duration) {
	const nothing = -1
	if o.limit >= 0 && v.calls > 0 {
		return nil, time.Duration(stepOf(o.limit)) // no worker says when a call ends
	}
	if o.limit < 0 || !v.stuck(o.limit) || o.s.waitForDevices() || o.certain && v.waiting > 0 {
		return nil, nothing
	}
	now, step := clock.Now(), stepOf(o.limit)
	if v != o.seen {
		o.seen, o.quiet, o.more, o.found = v, 0, 0, nil
	} else {
		o.quiet += min(now-o.looked, step)
	}
	o.looked = now
	if left := o.limit + o.more - o.quiet; left > 0 {
		return nil, time.Duration(min(left, step))
	}
	if o.found != nil {
		return o.found, nothing // after the check it was still the same
	}
	if o.certain && o.s.outsideMayWake() {
		o.more += o.more + o.limit // to ask costs more than to look
		return nil, nothing
	}
	o.found = o.s.ask(o.only)
	if o.found != nil {
		o.found.Later = v.waiting
		o.found.After = time.Duration(o.limit)
	}
	return nil, checkPause
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

// checkPause gives the workers that have been asked the time to sleep again.
const checkPause = 100 * time.Microsecond

// Remaining is the error of a CloseContext whose context is done: what is left of the scheduler. It wraps
// context.Cause of that context. Other goroutines may have changed some of it since.
type Remaining struct {
	Scheduler string
	Cause     error     // context.Cause
	Queued    int       // tasks that have not begun; see Stats.Pending
	Bound     int       // goroutines that have not been unbound
	Running   []Busy    // fibers that run a task, or are ready to go on
	Blocked   []Blocked // fibers that wait, with a deadline or without
}

// Busy is a fiber that is not blocked.
type Busy struct {
	Worker int    // its worker's number
	Fiber  int    // its own number on the worker that has made it
	Task   string // the name of its task, if that has one
	State  State  // Running or Queued
}

// String is one line: the fiber and its state.
func (r Busy) String() string {
	return Blocked{Worker: r.Worker, Fiber: r.Fiber, Task: r.Task, State: r.State}.String()
}

// Error is the text of the report. Like that of a Deadlock it has a limited number of lines; Running and Blocked have
// all.
func (r *Remaining) Error() string {
	var b strings.Builder
	fmt.Fprintf(
		&b,
		"sched: close %s: %v: left are %d tasks that have not begun, %d fibers that run, %d that are blocked, %d "+
			"bound goroutines: call Close again",
		r.Scheduler, r.Cause, r.Queued, len(r.Running), len(r.Blocked), r.Bound,
	)
	for _, f := range r.Running[:min(mostListed, len(r.Running))] {
		fmt.Fprintf(&b, "\n\t%v", f)
	}
	if more := len(r.Running) - mostListed; more > 0 {
		fmt.Fprintf(&b, "\n\tand %d more that run", more)
	}
	listBlocked(&b, r.Blocked)
	return b.String()
}

// Unwrap returns the cause.
func (r *Remaining) Unwrap() error { return r.Cause }

// remainingLimit is how long CloseContext waits until blocked fibers have said where they wait. Workers that have time
// answer within microseconds.
const remainingLimit = 50 * time.Millisecond

// remaining says what keeps the scheduler from ending.
func (s *Scheduler) remaining(ctx context.Context) *Remaining {
	stats := s.Stats()
	s.mu.Lock()
	r := &Remaining{Scheduler: s.cfg.Name, Cause: context.Cause(ctx), Queued: stats.Pending, Bound: len(s.bound)}
	s.mu.Unlock()
	told := make(map[[2]int]bool) // by worker and number
	if s.asking.TryLock() {
		r.Blocked = describe(s.answersOfSleepers())
		s.asking.Unlock()
	}
	for _, b := range r.Blocked {
		told[[2]int{b.Worker, b.Fiber}] = true
	}
	for _, f := range s.fibers.all() {
		number, busy := f.taskName()
		state, name := f.State(), s.names.of(number)
		switch {
		case state == Idle, told[[2]int{f.maker.id, f.id}]:
		case state == Yielded, state == Waiting:
			r.Blocked = append(r.Blocked, Blocked{Worker: f.maker.id, Fiber: f.id, Task: name, State: state})
		case busy:
			r.Running = append(r.Running, Busy{Worker: f.maker.id, Fiber: f.id, Task: name, State: state})
		}
	}
	slices.SortFunc(r.Running, func(a, b Busy) int {
		return slices.Compare([]int{a.Worker, a.Fiber}, []int{b.Worker, b.Fiber})
	})
	slices.SortStableFunc(r.Blocked, func(a, b Blocked) int {
		return slices.Compare([]int{a.Worker, a.Fiber}, []int{b.Worker, b.Fiber})
	})
	return r
}

// answersOfSleepers has the workers that sleep list their blocked fibers. asking must be held.
func (s *Scheduler) answersOfSleepers() (answers []answer) {
	limit := time.After(remainingLimit)
	for _, w := range s.everyWorker() {
		if !w.word.Asleep() || !s.fibers.anyYielded(w) {
			continue
		}
		some, inTime := w.listBlocked(limit)
		answers = append(answers, some...)
		if !inTime {
			break
		}
	}
	return answers
}
