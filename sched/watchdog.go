package sched

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"fiberlab/internal/clock"
)

// watch is the watchdog: it reports deadlocks to Config.Deadlocked, and stalls to Config.Stalled, each once, until over
// is closed. Limit is how long nothing must happen. If certain is set, it reports a deadlock only if nothing else, as
// far as it sees, can end that.
func (s *Scheduler) watch(limit time.Duration, certain bool, over <-chan struct{}) {
	deadlocks := deadlockJudge{s: s, limit: clock.Instant(limit), certain: certain}
	stalls := stallJudge{s: s, limit: max(clock.Instant(limit), shortestStall)}
	var reported survey
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
		if stall := stalls.judge(); stall != nil {
			s.cfg.Stalled(stall)
		}
		if !pause(deadlocks.limit, again, over) {
			return
		}
	}
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

// shortestStall is the least time that a worker must be in one task.
const shortestStall = clock.Instant(time.Second)

// stallJudge reports workers that are stalled.
//
// A worker that computes for long is not stalled. So in the last half of the limit each look compares the stacks of all
// tasks that block their threads. A stack that was there at each look has blocked all the time. A stack does not say
// which worker it is on. So there must be one for each worker that has been in one task as long, whether others wait
// for it or not. Otherwise the worker for which they wait may be the one that computes.
type stallJudge struct {
	s        *Scheduler
	limit    clock.Instant
	spells   map[*Worker]*stillness[spell] // of workers that do not sleep
	progress uint64                        // of all workers
	stacks   map[goroutineStack]int        // how many tasks have had each at every look; nil: none has been compared
	reported bool                          // these workers have been
}

// spell is what stays the same while a worker is in one task.
type spell struct {
	progress uint64
	needed   bool // others wait for the worker
}

// progress counts what the worker does: each task that begins or ends, and each change to another fiber, makes it grow.
func (w *Worker) progress() uint64 {
	return w.tasks.load() + w.tasksDone.load() + w.switches.load() + w.dry.load() + w.sleeps.load()
}

// judge returns a report of workers that have been stalled for the limit, once for each time that they are.
func (o *stallJudge) judge() *Stall {
	stall, long, bound := o.look()
	if stall == nil {
		o.stacks, o.reported = nil, false
		return nil
	}
	if o.reported {
		return nil
	}
	last, blocked := o.stacks, 0
	o.stacks = stacksThatBlock(bound)
	for g, n := range o.stacks {
		if last != nil {
			n = min(n, last[g])
			o.stacks[g] = n
		}
		blocked += n
	}
	switch {
	case blocked < long:
		o.spells, o.stacks = nil, nil
		return nil
	case stall.After < time.Duration(o.limit):
		return nil
	}
	for g, n := range o.stacks {
		if wait := g.wait(); n > 0 {
			stall.Calls = append(stall.Calls, BlockingPlace{Stack: wait.ofTask(), Remedy: wait.remedy()})
		}
	}
	stall.After = time.Duration(o.limit)
	o.reported = true
	return stall
}

// look notes how far each worker is. It returns those for which others have waited, and which have been in one task,
// for half of the limit and more, or nil. Long is how many have been in one task as long. Bound goroutines count if
// bound is set: others wait for one of them.
func (o *stallJudge) look() (stall *Stall, long int, bound bool) {
	workers, last, all := o.s.everyWorker(), o.spells, uint64(0)
	for _, w := range workers {
		all += w.progress()
	}
	still := o.progress == all
	o.progress, o.spells = all, make(map[*Worker]*stillness[spell])
	stall = &Stall{Scheduler: o.s.cfg.Name}
	var inOneTask [2]int // by mode
	for _, w := range workers {
		if w.word.Asleep() {
			continue
		}
		if o.spells[w] = last[w]; last[w] == nil {
			o.spells[w] = new(stillness[spell])
		}
		fibers, tasks := w.waitedFor(still)
		needed := fibers+tasks > 0
		lasts := o.spells[w].look(spell{w.progress(), needed}, stepOf(o.limit))
		if lasts < o.limit/2 {
			continue
		}
		if inOneTask[w.mode]++; !needed {
			continue
		}
		if d := time.Duration(lasts); stall.Workers == nil || d < stall.After {
			stall.After = d
		}
		stall.Workers = append(stall.Workers, w.id)
		stall.Fibers += fibers
		stall.Tasks += tasks
		bound = bound || w.mode == singleThreaded
	}
	if stall.Workers == nil {
		return nil, 0, false
	}
	if long = inOneTask[multiThreaded]; bound {
		long += inOneTask[singleThreaded]
	}
	return stall, long, bound
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

// stacksThatBlock returns how many tasks in a call that blocks the thread have each stack; with the function of Run, if
// bound is set. If the program has too many goroutines, it returns none.
func stacksThatBlock(bound bool) map[goroutineStack]int {
	stacks, _ := goroutineStacks()
	for g := range stacks {
		if !g.wait().blocksThread(bound) {
			delete(stacks, g)
		}
	}
	return stacks
}

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

// mostCalls is how many calls that block the text of a report lists, each with its stack.
const mostCalls = 5

// Error is the text of the report.
func (s *Stall) Error() string {
	var b strings.Builder
	subject := fmt.Sprintf("worker %d has", s.Workers[0])
	if len(s.Workers) > 1 {
		subject = fmt.Sprintf("workers %d have each", s.Workers)
	}
	fmt.Fprintf(&b, "%v: %s: %s been in one task for %v, in a call that blocks the thread, "+
		"while %d fibers and %d tasks wait for it", ErrStalled, s.Scheduler, subject, s.After, s.Fibers, s.Tasks)
	for _, c := range s.Calls[:min(mostCalls, len(s.Calls))] {
		fmt.Fprintf(&b, "\n\tin place of this call, %s:", c.Remedy)
		for _, f := range c.Stack {
			fmt.Fprintf(&b, "\n\t\t%s (%s:%d)", f.Function, f.File, f.Line)
		}
	}
	return b.String()
}

// Unwrap returns ErrStalled.
func (s *Stall) Unwrap() error { return ErrStalled }

// reportDeadlock and reportStall write to stderr.
func reportDeadlock(d *Deadlock) { fmt.Fprintln(os.Stderr, d) }
func reportStall(s *Stall)       { fmt.Fprintln(os.Stderr, s) }

// The watchdog asks two questions about the program's goroutines: may one of them still wake a fiber, and which are
// tasks in a call that blocks their thread? The runtime lists no reasons, but it shows stacks:
//
//	runtime.gopark                 the goroutine waits,
//	runtime.chanrecv               for a value from a channel,
//	main.main.func1                here: the place is the first function beyond the packages that implement the wait
//	fiberlab/sched.(*Fiber).execute   in a task
//
// A timer of package time, and a thread of C that has not called Go yet, are on no stack.

// mostGoroutines is how many goroutines the watchdog looks at. In a program that has more, it reports nothing that
// depends on them. Reading the stacks of 1,000 takes some 20 ms of a processor.
const mostGoroutines = 20_000

// goroutineStack is the innermost functions of a goroutine, as runtime.StackRecord has them.
type goroutineStack [32]uintptr

// goroutineStacks returns how many goroutines have each stack, or false if there are more than mostGoroutines. It
// stops the program for a moment.
func goroutineStacks() (map[goroutineStack]int, bool) {
	for n := runtime.NumGoroutine(); n <= mostGoroutines; {
		var ok bool
		records := make([]runtime.StackRecord, n+n/10+10)
		if n, ok = runtime.GoroutineProfile(records); !ok {
			continue // there are n by now
		}
		stacks := make(map[goroutineStack]int)
		for _, r := range records[:n] {
			stacks[r.Stack0]++
		}
		return stacks, true
	}
	return nil, false
}

// goroutineWait is what a stack says of a goroutine's wait.
type goroutineWait struct {
	library []string        // the functions that implement the wait, the innermost first
	program []runtime.Frame // the others; the first one is the place
}

// libraries are the packages whose functions implement waits of Go.
var libraries = []string{"runtime.", "runtime/", "sync.", "sync/", "internal/", "syscall.", "time.", "iter."}

// ownPackages are the packages by which goroutines wait as workers, fibers, or callers of a primitive.
var ownPackages = append([]string{"fiberlab/fiber.", "fiberlab/fiber/", "fiberlab/internal/"}, waitPackages...)

func hasPrefix(function string, packages []string) bool {
	return slices.ContainsFunc(packages, func(p string) bool { return strings.HasPrefix(function, p) })
}

// wait names the functions of the stack, and parts them where those end that implement the wait.
func (g goroutineStack) wait() (w goroutineWait) {
	pcs := slices.DeleteFunc(g[:], func(pc uintptr) bool { return pc == 0 })
	for walk, more := runtime.CallersFrames(pcs), len(pcs) > 0; more; {
		var f runtime.Frame
		f, more = walk.Next()
		if len(w.program) == 0 && hasPrefix(f.Function, libraries) {
			w.library = append(w.library, f.Function)
		} else {
			w.program = append(w.program, f)
		}
	}
	return w
}

// by reports whether functions of these names implement the wait.
func (w goroutineWait) by(prefixes ...string) bool {
	return slices.ContainsFunc(w.library, func(f string) bool { return hasPrefix(f, prefixes) })
}

// in reports whether the goroutine is in a call of that function of the program.
func (w goroutineWait) in(function string) bool {
	return slices.ContainsFunc(w.program, func(f runtime.Frame) bool { return f.Function == function })
}

// parked reports whether the goroutine waits for Go to wake it.
func (w goroutineWait) parked() bool { return w.by("runtime.gopark") }

// outsideMayWake reports whether another scheduler, or a goroutine that is none of the workers, may come to wake a
// fiber of s. All workers of s sleep. Another scheduler's fibers may have deadlines, and while they switch, the one
// that runs looks like one that is suspended.
func (s *Scheduler) outsideMayWake() bool {
	if workersTaken.Load() > int64(len(s.everyWorker())) {
		return true
	}
	stacks, ok := goroutineStacks()
	if !ok {
		return true
	}
	for g := range stacks {
		if g.wait().mayWake() {
			return true
		}
	}
	return false
}

// needsGoroutine reports whether only another goroutine can end the wait. A receive and a select may also end by a
// timer.
func (w goroutineWait) needsGoroutine() bool {
	return w.parked() && w.by("runtime.chansend", "runtime.block", "sync.", "internal/sync.")
}

// mayWake reports whether the goroutine may come to wake a fiber, although no fiber and no other goroutine does
// anything.
func (w goroutineWait) mayWake() bool {
	if len(w.program) == 0 || w.in("fiberlab/sched.(*Scheduler).watch") || w.in("fiberlab/sched.(*Worker).waitForWork") {
		return false // the runtime's, a watchdog, or a worker that sleeps
	}
	place := w.program[0].Function
	switch {
	case strings.HasPrefix(place, "testing."):
		return !w.by("runtime.chanrecv") // it waits for a test
	case !hasPrefix(place, ownPackages):
		return !w.needsGoroutine()
	case w.in("fiberlab/sched/park.(*Goroutine).Park"):
		return w.in("fiberlab/sched/park.Until.Await") // it has a deadline, or a context
	case strings.HasPrefix(place, "fiberlab/sched/fibersync."):
		return !w.needsGoroutine() // it sleeps
	}
	return !w.parked() && !w.by("runtime.cgocall", "runtime.coroswitch") // a fiber that is suspended is in one of these
}

// blocksThread reports whether the goroutine is a task, or, if bound is true, the function of Run, that is in a call
// which blocks its thread. A call of C may compute: it does not count.
func (w goroutineWait) blocksThread(bound bool) bool {
	if len(w.program) == 0 || hasPrefix(w.program[0].Function, ownPackages) {
		return false
	}
	if !w.in("fiberlab/sched.(*Fiber).execute") && !(bound && w.in("fiberlab/sched.Run")) {
		return false
	}
	return w.parked() || w.by("syscall.", "internal/runtime/syscall.")
}

// remedy is what to do in a task in place of the call that blocks the thread.
func (w goroutineWait) remedy() string {
	instead := ""
	switch {
	case w.by("runtime.chan"):
		instead = "use a fibersync.Channel, or "
	case w.by("runtime.selectgo"):
		instead = "use fibersync.Select, or "
	case w.by("time.Sleep"):
		instead = "use fibersync.Sleep, or "
	case w.by("sync.", "internal/sync."):
		instead = "use the primitive of this name in package fibersync, or "
	}
	return instead + "make the call by fibersync.BlockingCall"
}

// ofTask is the task's own part of the stack: from the place to the function that package sched has called.
func (w goroutineWait) ofTask() []runtime.Frame {
	end := slices.IndexFunc(w.program, func(f runtime.Frame) bool { return hasPrefix(f.Function, waitPackages) })
	return w.program[:max(end, 0)]
}
