package sched

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"fiberlab/internal/clock"
	"fiberlab/internal/goroutine"
)

// watch is the watchdog: it reports deadlocks to Config.Deadlocked, and stalls to Config.Stalled, each once, until over
// is closed. Limit is how long nothing must happen. If certain is set, it reports a deadlock only if nothing else, as
// far as it sees, can end that.
func (s *Scheduler) watch(limit time.Duration, certain bool, over <-chan struct{}) {
	deadlocks := deadlockJudge{s: s, limit: clock.Instant(limit), certain: certain}
	stalls := stallJudge{s: s, limit: max(clock.Instant(limit), shortestStall)}
	var reported survey
	defer s.looked.Store(0)
	for {
		s.looked.Store(int64(clock.Now()))
		v := s.survey()
		again := time.Duration(-1)
		if v != reported {
			var deadlock *Deadlock
			if deadlock, again = deadlocks.judge(v); deadlock != nil {
				reported = v
				s.cfg.Deadlocked(deadlock)
			}
		}
		for _, stall := range stalls.judge() {
			s.cfg.Stalled(stall)
		}
		if !pauseFor(deadlocks.limit, again, over) {
			return
		}
	}
}

// pauseFor waits for a step of a judge with that limit, or for again if that is less and not negative. It returns
// false, at once, when over is closed.
func pauseFor(limit clock.Instant, again time.Duration, over <-chan struct{}) bool {
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

// shortestStall is the least time that a worker must be in one task.
const shortestStall = clock.Instant(time.Second)

// stallJudge reports workers that are stalled. Such a worker has been in one task for as long as the limit, and others
// have waited for it. Two successive looks have found the task in the same call of Go that blocks the thread. One look
// would not do: a worker that computes is not stalled, but may wait for a lock at that moment.
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

// progress counts what the worker does: each task that begins or ends, and each change to another fiber, makes it grow.
func (w *Worker) progress() uint64 {
	return w.tasks.load() + w.tasksDone.load() + w.switches.load() + w.dry.load() + w.sleeps.load()
}

// judge looks how far each worker is, and returns a report of each that has been stalled for the limit, once.
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
			spell.lasts = 0 // to ask costs more than to look
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

// waitedFor is how many fibers and tasks only w can run. If all workers are still, those that any of them could run
// count too.
func (w *Worker) waitedFor(still bool) (fibers, tasks int) {
	tasks = w.pendingLocal()
	if !w.sharesFibers() {
		fibers = int(w.blocked.load())
	}
	if still && w.mode == multiThreaded {
		tasks += w.pendingOpen() + w.scheduler.policy.shared()
		if w.timers.next() <= clock.Now() {
			fibers++
		}
	}
	return fibers, tasks
}

// blockedStack returns the stack of the task that w runs, or of the function of Run, if that is in a call which blocks
// the thread; else nil. A call of C may compute: it does not count.
func (w *Worker) blockedStack() []runtime.Frame {
	running := w.running.Load()
	fibers := w.scheduler.fibers.list(w)
	i := slices.IndexFunc(fibers, func(f *Fiber) bool { return running != 0 && f.self.Load() == running })
	if i < 0 {
		return nil
	}
	traces, _ := goroutine.All(mostGoroutines)
	t := traces[fibers[i].goroutine]
	stack := t.Frames()
	if end := slices.IndexFunc(stack, callsTask); end > 0 && blocksThread(t) {
		return stack[:end]
	}
	return nil
}

// blocking are how the states begin in which a goroutine waits for what the program, a timer or the kernel does; in
// others it may wait for the collector.
var blocking = []string{"chan ", "select", "sync.", "sleep", "IO wait"}

// blocksThread reports whether a task on that goroutine is in a call of Go that blocks its thread.
func blocksThread(t goroutine.Trace) bool {
	return hasPrefix(t.State, blocking) || t.State == "semacquire" && (t.At("sync.") || t.At("internal/poll.")) ||
		t.State == "syscall" && t.In("syscall.") // else it is in C
}

// Stall is the error of a worker that has been in one task for long, while fibers or tasks wait for it. The task is in
// a call that blocks the thread, such as a receive from a Go channel. It wraps ErrStalled.
type Stall struct {
	Scheduler string
	Worker    int             // its number
	After     time.Duration   // for how long, at least
	Fibers    int             // that are blocked or ready, and can only go on on this worker
	Tasks     int             // that only this worker can begin
	Stack     []runtime.Frame // of the task, the innermost function first
}

// Error is the text of the report.
func (s *Stall) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v: %s: worker %d has been in one task for %v, in a call that blocks the thread, while %d fibers "+
		"and %d tasks wait for it: in place of this call, use a primitive of package fibersync (Channel, Select, Sleep, "+
		"Mutex), or make the call by fibersync.BlockingCall", ErrStalled, s.Scheduler, s.Worker, s.After, s.Fibers, s.Tasks)
	for _, f := range s.Stack {
		fmt.Fprintf(&b, "\n\t%s (%s:%d)", f.Function, f.File, f.Line)
	}
	return b.String()
}

// Unwrap returns ErrStalled.
func (s *Stall) Unwrap() error { return ErrStalled }

// outsideMayWake reports whether another scheduler, or a goroutine that is none of the workers, may come to wake a
// fiber of s. All workers of s sleep. A timer of package time, and a thread of C that has not called Go yet, are no
// goroutines.
func (s *Scheduler) outsideMayWake() bool {
	if workersTaken.Load() > int64(len(s.everyWorker())) {
		return true // a fiber of another scheduler may have a deadline
	}
	traces, ok := goroutine.All(mostGoroutines)
	for _, t := range traces {
		if mayWake(t) {
			return true
		}
	}
	return !ok
}

// needsGoroutine are how the states begin in which a goroutine waits until another goroutine does something.
var needsGoroutine = []string{"chan send", "chan receive (nil", "select (no", "sync.", "semacquire", "coroutine"}

// mayWake reports whether the goroutine may come to wake a fiber, although no fiber and no other goroutine does
// anything. Where it receives or selects, a timer may end that.
func mayWake(t goroutine.Trace) bool {
	switch {
	case t.At("fiberlab/fiber"), t.In("fiberlab/sched.(*Fiber).main("), t.In("fiberlab/sched.(*Worker).waitForWork("):
		return false // a fiber that is suspended, or a worker that sleeps
	case t.In("fiberlab/sched.(*Scheduler).watch("), t.In("fiberlab/sched.(*Worker).watchUnbind("),
		t.In("fiberlab/sched.(*Scheduler).close("):
		return false // it waits for the workers
	case t.In("testing.(*T).Run("), t.In("created by runtime/"):
		return false // it waits for a test, or writes a profile or a trace
	case t.In("fiberlab/sched/park.(*Goroutine).Park("):
		return t.In("fiberlab/sched/park.Until.Await(") // it has a deadline, or a context
	}
	return !hasPrefix(t.State, needsGoroutine)
}
