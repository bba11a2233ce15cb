package sched

import (
	"fmt"
	"os"
	"time"

	"fiberlab/internal/clock"
	"fiberlab/sched/park"
)

// parker is a Fiber as package park sees it. What primitives wait by are no methods of Fiber, so that programs do not
// call them: park.Current takes the parker from the fiber.Fiber that it belongs to. To convert one pointer into the
// other costs nothing.
type parker Fiber

var _ park.Scheduled = (*parker)(nil)

// Park implements [park.Parker]. It panics with an error that wraps ErrNotSelf if p is not the caller.
func (p *parker) Park(deadline time.Time) {
	f := (*Fiber)(p)
	if !f.fiber.IsCurrent() {
		panic(f.misuse("park"))
	}
	until := clock.Never
	if !deadline.IsZero() {
		until = clock.At(deadline)
	}
	if f.token.Load() != 0 {
		f.token.Swap(0)
		f.awaits = nil
		return
	}
	if f.hook != nil && !f.hookTold {
		f.parkTold(deadline)
		return
	}
	f.block(until, parked)
	// An Unpark that found f not parked has left its token; a later Unpark finds it parked.
	if f.token.Swap(0) == 0 || !f.unblock() {
		f.suspend()
	}
	f.awaits = nil
}

// Unpark implements [park.Parker]. It leaves a fiber alone that is blocked in anything but Park.
func (p *parker) Unpark() {
	f := (*Fiber)(p)
	if f.wake(parked) {
		return
	}
	f.token.Swap(1)
	// f may have parked before it could see the token.
	f.wake(parked)
}

// Start implements [park.Parker]: it queues f as a task of the fiber's scheduler.
func (p *parker) Start(f func()) error { return p.maker.scheduler.Enqueue(Task{Func: f}) }

// StartNow implements [park.Parker].
func (p *parker) StartNow(f func()) error {
	s := p.maker.scheduler
	return s.enqueue(noRoom, &Task{Func: f}, s.worker(), anywhere)
}

// WaiterSlot implements [park.Parker].
func (p *parker) WaiterSlot() *any { return &p.spare }

// Yield implements [park.Scheduled]. It panics with an error that wraps ErrNotSelf if p is not the caller.
func (p *parker) Yield() {
	f := (*Fiber)(p)
	if !f.fiber.IsCurrent() {
		panic(f.misuse("yield"))
	}
	f.yield()
}

// LocalSlot implements [park.Scheduled]. The main fiber of a goroutine that is bound keeps its value until Unbind.
func (p *parker) LocalSlot() *any { return &p.local }

// Awaits implements [park.Scheduled].
func (p *parker) Awaits(what park.Awaited) { p.awaits = what }

// Shared implements [park.Scheduled].
func (p *parker) Shared() *park.Shared { return &p.maker.scheduler.shared }

// Arena implements [park.Scheduled].
func (p *parker) Arena() *park.Arena { return p.worker.Load().arena }

// Thread implements [park.Scheduled]: the worker that a fiber stays with stands for its thread.
func (p *parker) Thread() any {
	if p.home == nil {
		return park.AnyThread()
	}
	return p.home
}

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
		w.word.Notify()
	}
}

// givesUp reports whether Unbind shall return a deadlock.
func (w *Worker) givesUp() bool { return w.stuck.Load() != nil && w.staysStuck() }

// staysStuck reports whether the worker has found nothing to run since it was told to give up. Otherwise it goes on.
func (w *Worker) staysStuck() bool {
	if w.canRun() {
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
