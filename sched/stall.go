package sched

import (
	"fmt"
	"runtime"
	"strings"
	"time"

	"fiberlab/internal/clock"
)

// Stall is the error of workers that have been in one task for long, while fibers or tasks wait for them. The task is
// in a call that blocks the thread, such as a receive from a Go channel. It wraps ErrStalled.
type Stall struct {
	Scheduler string
	Workers   []int           // their numbers
	After     time.Duration   // for how long, at least
	Fibers    int             // that are blocked or ready, and can only go on on these workers
	Tasks     int             // that only these workers can begin
	Calls     []BlockingPlace // where tasks of the program block their threads: one place for each worker, as a rule
}

// BlockingPlace is a call that blocks the thread of a task.
type BlockingPlace struct {
	Stack  []runtime.Frame // from the function that made the call outwards
	Remedy string
}

// Error is the text of the report.
func (s *Stall) Error() string {
	var b strings.Builder
	subject := fmt.Sprintf("worker %d has", s.Workers[0])
	if len(s.Workers) > 1 {
		numbers := strings.Trim(fmt.Sprint(s.Workers), "[]")
		subject = fmt.Sprintf("workers %s have each", strings.ReplaceAll(numbers, " ", ", "))
	}
	fmt.Fprintf(&b, "%v: %s: %s been in one task for %v, in a call that blocks the thread, "+
		"while %d fibers and %d tasks wait for it", ErrStalled, s.Scheduler, subject, s.After, s.Fibers, s.Tasks)
	for _, c := range s.Calls[:min(mostPlaces, len(s.Calls))] {
		fmt.Fprintf(&b, "\n\tin place of this call, %s:", c.Remedy)
		for _, f := range c.Stack {
			fmt.Fprintf(&b, "\n\t\t%s (%s:%d)", f.Function, f.File, f.Line)
		}
	}
	return b.String()
}

// Unwrap returns ErrStalled.
func (s *Stall) Unwrap() error { return ErrStalled }

// shortestStall is the least time that a worker must be in one task.
const shortestStall = clock.Instant(time.Second)

// stallJudge reports workers that are stalled. Like deadlockJudge it counts looks.
//
// A worker that computes for long is not stalled. So in the last part of the limit each look compares the stacks of all
// tasks that block their threads. A stack that was there at each look has blocked all the time. A stack does not say
// which worker it is on. So there must be one for each worker that has been in one task as long, or another one of them
// may be the one that computes.
type stallJudge struct {
	s        *Scheduler
	limit    clock.Instant
	looked   clock.Instant // the last time
	busy     map[*Worker]*busySpell
	progress uint64                 // of all workers
	stuck    bool                   // there has been none since the last look
	long     map[mode]int           // how many workers have been in one task for half of the limit and more
	bound    bool                   // others wait for one of these that is a bound goroutine
	stacks   map[goroutineStack]int // how many tasks have had each at every look; nil: none has been compared
	lasts    clock.Instant          // how long these have been the same, and others have waited
	told     bool                   // about these stacks
}

// busySpell is a time in which a worker has been busy with one task.
type busySpell struct {
	progress uint64
	lasts    clock.Instant
}

// progress counts what the worker does: each task that begins or ends, and each change to another fiber, makes it grow.
func (w *Worker) progress() uint64 {
	return w.tasks.load() + w.tasksDone.load() + w.switches.load() + w.rests.load() + w.sleeps.load()
}

// judge returns a report of workers that have been stalled for the limit, once for each time that they are.
func (o *stallJudge) judge() *Stall {
	now, step := clock.Now(), stepOf(o.limit)
	passed := now - o.looked
	if passed < step {
		return nil
	}
	o.looked, passed = now, min(passed, step)
	stall := o.look(passed)
	switch {
	case stall == nil:
		o.stacks, o.told = nil, false
		return nil
	case o.told || !o.compare(passed):
		return nil
	case stall.After < time.Duration(o.limit) || o.lasts < o.limit/2:
		return nil
	}
	for g := range o.stacks {
		wait := g.wait()
		stall.Calls = append(stall.Calls, BlockingPlace{Stack: wait.ofTask(), Remedy: wait.remedy()})
	}
	stall.After = time.Duration(o.limit)
	o.told = true
	return stall
}

// look notes how far each worker is, after a time that counts as passed. It returns those for which others wait, and
// which have been in one task for half of the limit and more, or nil.
func (o *stallJudge) look(passed clock.Instant) *Stall {
	workers := o.s.everyWorker()
	last, all := o.busy, uint64(0)
	o.busy = make(map[*Worker]*busySpell, len(workers))
	for _, w := range workers {
		p := w.progress()
		all += p
		if w.word.Asleep() {
			continue
		}
		spell := last[w]
		if spell == nil || spell.progress != p {
			spell = &busySpell{progress: p}
		} else {
			spell.lasts += passed
		}
		o.busy[w] = spell
	}
	o.stuck, o.progress = o.progress == all, all
	o.long, o.bound = make(map[mode]int), false
	stall := &Stall{Scheduler: o.s.cfg.Name}
	for _, w := range workers {
		spell := o.busy[w]
		if spell == nil || spell.lasts < o.limit/2 {
			continue
		}
		o.long[w.mode]++
		fibers, tasks := o.waitFor(w)
		if fibers+tasks == 0 {
			continue
		}
		o.bound = o.bound || w.mode == singleThreaded
		stall.Workers = append(stall.Workers, w.id)
		stall.Fibers += fibers
		stall.Tasks += tasks
		if d := time.Duration(spell.lasts); stall.After == 0 || d < stall.After {
			stall.After = d
		}
	}
	if len(stall.Workers) == 0 {
		return nil
	}
	return stall
}

// waitFor is how many fibers and tasks wait for w: those that only w can run. If no worker has done anything since the
// last look, those that any of them could run count too.
func (o *stallJudge) waitFor(w *Worker) (fibers, tasks int) {
	tasks = w.pendingLocal()
	if !w.sharesFibers() {
		fibers = int(w.blocked.load())
	}
	if o.stuck && w.mode == multiThreaded {
		tasks += w.pendingOpen() + o.s.policy.shared()
		if w.timers.next() <= clock.Now() {
			fibers++
		}
	}
	return fibers, tasks
}

// compare keeps those stacks that tasks in a blocking call have had at each look since the first. It returns false,
// and has the workers begin anew, if there are fewer than workers that may be in such a call. If no bound goroutine is
// waited for, what the function of Run does is left out. The time since the last look counts as passed.
func (o *stallJudge) compare(passed clock.Instant) bool {
	stacks, ok := goroutineStacks()
	blocked, workers := 0, o.long[multiThreaded]
	if o.bound {
		workers += o.long[singleThreaded]
	}
	if o.lasts += passed; o.stacks == nil {
		o.lasts = 0
	}
	for g, n := range stacks {
		if o.stacks != nil {
			n = min(n, o.stacks[g])
		}
		if n == 0 || !g.wait().blocksThread(o.bound) {
			delete(stacks, g)
			continue
		}
		stacks[g] = n
		blocked += n
	}
	o.stacks = stacks
	if !ok || blocked < workers {
		o.busy, o.stacks = nil, nil
		return false
	}
	return true
}

// ofTask is the stack of a task from the place outwards.
func (w goroutineWait) ofTask() []runtime.Frame {
	for i, f := range w.program {
		if hasPrefix(f.Function, waitPackages) {
			return w.program[:i]
		}
	}
	return w.program
}
