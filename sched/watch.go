package sched

import (
	"fmt"
	"os"
	"time"

	"fiberlab/internal/clock"
)

// pollsPerLimit is the number of surveys within one give-up limit, if no news comes earlier.
const pollsPerLimit = 4

// The bounds of the time between two surveys.
const (
	shortestPoll = 50 * time.Microsecond
	longestPoll  = 100 * time.Millisecond
)

// watchUnbind reports a deadlock to w, a single-threaded worker that shuts down, until
// unbound is closed. A worker that has something to run after all is not disturbed.
func (w *Worker) watchUnbind(unbound <-chan struct{}) {
	o := deadlockJudge{s: w.scheduler, only: w, limit: clock.Instant(w.scheduler.cfg.GiveUpAfter)}
	for {
		v := o.s.survey(w)
		deadlock, again := o.judge(v)
		if deadlock != nil {
			w.giveUp(deadlock, o.seen)
		}
		if !pause(o.limit, again, unbound) {
			return
		}
	}
}

// giveUp makes Unbind return deadlock, unless the scheduler is no longer as it was then, or the worker
// finds something to run.
func (w *Worker) giveUp(deadlock *Deadlock, then survey) {
	if w.scheduler.survey(w) == then && w.shutdown.Load() {
		w.stuck.Swap(deadlock) // see eventcount
		w.driver.notify()
	}
}

// givesUp tells whether Unbind shall return a deadlock.
func (w *Worker) givesUp() bool { return w.stuck.Load() != nil && w.staysStuck() }

// staysStuck tells whether the worker has found nothing to run since it was told to give up. Otherwise it goes on.
func (w *Worker) staysStuck() bool {
	if w.hasOwn() {
		w.stuck.Store(nil)
		return false
	}
	return true
}

// watch reports each deadlock to Config.Deadlocked until the scheduler is closed.
func (s *Scheduler) watch() {
	o := deadlockJudge{s: s, limit: clock.Instant(s.cfg.Watchdog)}
	var told survey
	for {
		v := s.survey(nil)
		again := time.Duration(-1)
		if v != told {
			var deadlock *Deadlock
			if deadlock, again = o.judge(v); deadlock != nil {
				told = v
				s.cfg.Deadlocked(deadlock)
			}
		}
		if !pause(o.limit, again, s.over) {
			return
		}
	}
}

// reportDeadlock writes a deadlock to stderr.
func reportDeadlock(d *Deadlock) { fmt.Fprintln(os.Stderr, "fiberlab:", d) }

// pause waits for a part of limit, or for again if that is less and not negative. It returns
// false, at once, when over is closed.
func pause(limit clock.Instant, again time.Duration, over <-chan struct{}) bool {
	d := min(max(time.Duration(limit)/pollsPerLimit, shortestPoll), longestPoll)
	if again >= 0 {
		d = min(d, again)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-over:
		return false
	case <-timer.C:
		return true
	}
}
