package sched

import (
	"slices"
	"time"

	"fiberlab/internal/clock"
)

// survey is what a scheduler's workers were doing at one moment.
type survey struct {
	quiet   bool   // all slept, or could make no fiber, and had nothing that they could run
	rests   uint64 // how often they had run out of work: as long as it stays the same, none has run anything
	workers int    // that there have been
	bound   int    // that are goroutines'

	yielded int           // fibers blocked without a deadline
	waiting int           // fibers blocked with one
	next    clock.Instant // the earliest deadline
	pending int           // tasks that have not begun, where they cannot
}

// over tells whether nothing can happen any more, and no fiber or task waits for anything.
func (v *survey) over() bool { return v.quiet && v.yielded+v.waiting+v.pending == 0 }

// nearDeadline bounds, together with the give-up limit, which deadlines put off a deadlock
// report: a deadline that lies further ahead than both does not.
const nearDeadline = clock.Instant(time.Second)

// stuck tells whether fibers or tasks wait that only a device, or a thread outside of the scheduler, could help.
func (v *survey) stuck(limit clock.Instant) bool {
	return v.quiet && v.yielded+v.pending > 0 && v.next > clock.Now()+max(nearDeadline, limit)
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
	s.skipping.Lock()
	defer s.skipping.Unlock()
	s.mu.Lock()
	v := survey{quiet: true, next: clock.Never, workers: s.numbers, bound: len(s.bound)}
	s.mu.Unlock()
	shared := s.policy.shared()
	able, unable := false, false // workers that can begin tasks of others; tasks of others that their worker cannot begin
	var blocked, waiting uint64
	for _, w := range s.everyWorker() {
		v.rests += w.rests.load()
		v.next = min(v.next, w.timers.next(), clock.Instant(w.nextDeadline.Load()))
		others := w.pendingOpen()
		pending := others + int(w.pinned.load())
		if !w.mailbox.empty() {
			pending++ // mailbox.tasks would also count a letter that a closed mailbox is about to refuse
		}
		switch {
		case w.exhausted.Load() != nil:
			unable = unable || others+shared > 0
		case w.driver.asleep() && pending == 0:
			able = able || w.mode == multiThreaded
		default:
			v.quiet = false
		}
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
	v.quiet = v.quiet && !(able && unable) && s.shared.BlockingCalls.Load() == 0
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
