package sched

import (
	"cmp"
	"runtime"
	"slices"
	"time"

	"fiberlab/internal/clock"
	"fiberlab/sched/report"
)

// watch is the watchdog, on a goroutine of its own: it reports deadlocks to Config.Deadlocked, and stalls to
// Config.Stalled, each once, until over is closed. It reports what has lasted for limit. If certain is set, it reports
// no deadlock that a fiber's deadline, or a goroutine outside, may still end.
func (s *Scheduler) watch(limit time.Duration, certain bool, over <-chan struct{}) {
	deadlocks := deadlockJudge{s: s, limit: clock.Instant(limit), certain: certain}
	stalls := stallJudge{s: s, limit: max(clock.Instant(limit), shortestStall)}
	defer s.looked.Store(0)
	for step := clock.Instant(0); pause(step, nil, over); step = stepOf(deadlocks.limit) {
		s.looked.Store(int64(clock.Now()))
		deadlocks.report(s.cfg.Deadlocked)
		for _, stall := range stalls.judge() {
			s.cfg.Stalled(stall)
		}
	}
}

// shortestStall is the least time that a worker must be in one task.
const shortestStall = clock.Instant(time.Second)

// stallJudge reports workers that are stalled. Such a worker has been in one task for as long as the limit, and others
// have waited for it. Two successive looks have found the task in the same call of Go that blocks the thread. One look
// is not enough: a worker that computes is not stalled, but may wait for a lock at that moment.
type stallJudge struct {
	s        *Scheduler
	limit    clock.Instant
	spells   map[*Worker]*stallSpell // of workers that others wait for
	progress uint64                  // of all workers
}

// stallSpell is for how long a worker has been in one task while others wait for it.
type stallSpell struct {
	stillness[uint64]                 // of the worker's progress
	stack             []runtime.Frame // of the task, if the last look has found it blocked
	reported          bool
}

// progress grows when w begins or ends a task, enters a fiber, runs out of work or has slept. Any thread may call it.
func (w *Worker) progress() uint64 {
	return w.tasks.load() + w.tasksDone.load() + w.switches.load() + w.dry.load() + w.sleeps.load()
}

// judge is one look of the watchdog. It returns a report of each worker that has been stalled for the limit, once.
func (o *stallJudge) judge() (stalls []*Stall) {
	workers, last, all := o.s.everyWorker(), o.spells, uint64(0)
	for _, w := range workers {
		all += w.progress()
	}
	still := o.progress == all
	o.progress, o.spells = all, make(map[*Worker]*stallSpell)
	for _, w := range workers {
		fibers, tasks := w.waitedFor(still)
		if w.word.Asleep() || fibers+tasks == 0 {
			continue
		}
		spell := cmp.Or(last[w], new(stallSpell))
		o.spells[w] = spell
		if spell.look(w.progress(), stepOf(o.limit)) < o.limit {
			spell.stack, spell.reported = nil, false
			continue
		}
		if spell.reported {
			continue
		}
		before := spell.stack
		spell.stack = w.blockedStack()
		if spell.stack == nil {
			spell.lasts = 0 // blockedStack stops the program: not again before the limit
		} else if slices.Equal(before, spell.stack) {
			spell.reported = true
			stalls = append(stalls, &Stall{
				Scheduler: o.s.cfg.Name, Worker: w.id, After: time.Duration(o.limit), Fibers: fibers, Tasks: tasks,
				Stack: spell.stack,
			})
		}
	}
	return stalls
}

// waitedFor counts the blocked fibers and the tasks that only w can run. If still is true, no worker makes progress:
// then tasks includes all entries of w's queues, and fibers one more if a deadline has passed. Any thread may call it.
func (w *Worker) waitedFor(still bool) (fibers, tasks int) {
	tasks = w.pendingLocal()
	if !w.sharesFibers() {
		fibers = int(w.blocked.load())
	}
	if still && w.mode == multiThreaded {
		tasks += w.scheduler.policy.pending(w)
		if w.timers.next() <= clock.Now() {
			fibers++
		}
	}
	return fibers, tasks
}

// blockedStack returns the stack of the task that w runs, if a call of Go blocks it, else nil. It stops the program.
func (w *Worker) blockedStack() []runtime.Frame {
	running := w.running.Load()
	fibers := w.scheduler.fibers.list(w)
	i := slices.IndexFunc(fibers, func(f *Fiber) bool { return running != 0 && f.self.Load() == running })
	if i < 0 {
		return nil
	}
	return report.BlockedTask(fibers[i].goroutine)
}

// outsideMayWake reports whether another scheduler, or a goroutine that is none of the workers, may still wake a fiber
// of s. The caller has found all workers of s asleep. Timers of package time, and threads of C that have not called Go
// yet, do not count. It may stop the program for a moment.
func (s *Scheduler) outsideMayWake() bool {
	// a fiber of another scheduler may have a deadline
	return workersTaken.Load() > int64(len(s.everyWorker())) || report.MayWake()
}
