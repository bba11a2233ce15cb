package sched

import (
	"fmt"
	"os"
	"time"

	"fiberlab/internal/clock"
)

// watch reports deadlocks to Config.Deadlocked, and stalls to Config.Stalled, until over is closed. Limit is how
// long nothing must happen. If certain is set, only deadlocks count that nothing else can end, as far as the watchdog
// sees.
func (s *Scheduler) watch(limit time.Duration, certain bool, over <-chan struct{}) {
	o := deadlockJudge{s: s, limit: clock.Instant(limit), certain: certain}
	stalls := stallJudge{s: s, limit: max(clock.Instant(limit), shortestStall)}
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
		if stall := stalls.judge(); stall != nil {
			s.cfg.Stalled(stall)
		}
		if !pause(o.limit, again, over) {
			return
		}
	}
}

// reportDeadlock and reportStall write to stderr.
func reportDeadlock(d *Deadlock) { fmt.Fprintln(os.Stderr, d) }
func reportStall(s *Stall)       { fmt.Fprintln(os.Stderr, s) }

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

// pause waits for a step of a judge with that limit, or for again if that is less and not negative. It returns
// false, at once, when over is closed.
func pause(limit clock.Instant, again time.Duration, over <-chan struct{}) bool {
	d := time.Duration(stepOf(limit))
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
