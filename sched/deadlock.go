package sched

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"fiberlab/internal/clock"
	"fiberlab/internal/debug"
	"fiberlab/internal/goroutine"
	"fiberlab/sched/park"
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

// survey is what a scheduler's workers were doing at one moment.
type survey struct {
	quiet   bool   // quiescent
	dry     uint64 // how often workers had run out of work: as long as it stays the same, none has run anything
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
// report: a deadline that is further ahead than both does not.
const nearDeadline = clock.Instant(time.Second)

// stuck reports whether fibers or tasks wait that only a device, or a thread outside of the scheduler, could help.
func (v *survey) stuck(limit clock.Instant) bool {
	return v.quiet && v.calls == 0 && v.yielded+v.pending > 0 && v.next > clock.Now()+max(nearDeadline, limit)
}

// survey visits all workers, twice if they were quiet.
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
	v.pending = s.policy.shared()
	var blocked, waiting uint64
	for _, w := range workers {
		v.pending += w.pendingOpen() + int(w.pinned.load())
		if !w.mailbox.empty() {
			v.pending++ // mailbox.tasks would also count a message that a closed mailbox is about to refuse
			v.quiet = false
		}
		v.quiet = v.quiet && (w.word.Asleep() || w.isDone())
		v.next = min(v.next, w.timers.next())
		waiting += w.waiting.load()
		blocked += w.blocked.load()
		v.dry += w.dry.load()
	}
	v.waiting, v.yielded = int(waiting), int(blocked-waiting)
	v.calls = s.shared.BlockingCalls.Load()
	return v
}

// stillness measures for how long something has been the same. It counts looks and not the clock: between two looks no
// more than a step counts, however late the second one comes. So a program that was stopped, or had no processor, has
// not been still for that time. A thread that is about to end the stillness gets as many chances as the watcher.
type stillness[T comparable] struct {
	seen   T             // at the last look
	looked clock.Instant // when that was
	lasts  clock.Instant // for how long it has been so
}

// look returns for how long v, which is so now, has been the same.
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

// deadlockJudge reports a deadlock once the scheduler has been stuck for as long as its limit.
type deadlockJudge struct {
	s       *Scheduler
	only    *Worker       // whose fibers and tasks are reported; nil: all
	certain bool          // there is no deadlock if a deadline, or a goroutine outside, may end it
	limit   clock.Instant // less than 0: without end
	more    clock.Instant // how much longer than the limit it must be stuck
	stillness[survey]
}

// judge returns a deadlock if v, the result of a survey just now, has stayed the same for long enough.
// Otherwise it says how soon to come back if nothing happens; less than 0 is never.
func (o *deadlockJudge) judge(v survey) (*Deadlock, time.Duration) {
	const nothing = -1
	step := stepOf(o.limit)
	if o.limit >= 0 && v.calls > 0 {
		return nil, time.Duration(step) // no worker says when a call ends
	}
	if o.limit < 0 || !v.stuck(o.limit) || o.s.devicesPending() || o.certain && v.waiting > 0 {
		return nil, nothing
	}
	if v != o.seen {
		o.more = 0
	}
	if left := o.limit + o.more - o.look(v, step); left > 0 {
		return nil, time.Duration(min(left, step))
	}
	if o.certain && o.s.outsideMayWake() {
		o.more += o.more + o.limit // to ask costs more than to look
		return nil, nothing
	}
	d := &Deadlock{Scheduler: o.s.cfg.Name, After: time.Duration(o.limit), Later: v.waiting, Tasks: v.pending}
	if o.only != nil {
		d.Tasks = o.only.pendingLocal()
	}
	if d.Fibers = report(o.s.fibers.list(o.only)); len(d.Fibers)+d.Tasks == 0 || o.s.survey() != v {
		return nil, time.Duration(step)
	}
	return d, nothing
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

// mostGoroutines is how many goroutines a program may have for reports to have their stacks. To write 1,000 of them
// stops the program for some 50 ms.
const mostGoroutines = 10_000

// report describes which of the fibers are blocked without a deadline. If none is, it does not stop the program.
func report(fibers []*Fiber) (list []FiberReport) {
	slices.SortFunc(fibers, func(a, b *Fiber) int { return cmp.Or(a.maker.id-b.maker.id, a.id-b.id) })
	names := make(map[uintptr]string) // of fibers that may hold what others wait for
	for _, f := range fibers {
		names[uintptr(f.self.Load())] = fmt.Sprintf("worker %d fiber %d", f.maker.id, f.id)
	}
	var goroutines []uint64
	for _, f := range fibers {
		task, waits, blocked := f.awaited()
		if !blocked {
			continue
		}
		b := FiberReport{Worker: f.maker.id, Fiber: f.id, Task: task}
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
		list, goroutines = append(list, b), append(goroutines, f.goroutine)
	}
	if list == nil {
		return nil
	}
	traces, _ := goroutine.All(mostGoroutines)
	for i, number := range goroutines {
		list[i].Stack, list[i].Call = waitIn(traces[number].Frames())
	}
	return list
}

// awaited returns the name of the task of f, and what it has said that it waits for, if f is blocked without a
// deadline. Any thread may call it. While the word of f stays the same, f does not go on and change what is read here.
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

// Deadlock is the error of a scheduler that runs nothing, and in which fibers are blocked without a deadline or tasks
// cannot begin. Only a thread outside of it could still notify the fibers. It wraps ErrDeadlock.
type Deadlock struct {
	Scheduler string
	After     time.Duration // for how long nothing has happened
	Fibers    []FiberReport // all of them, by worker
	Later     int           // further fibers, whose deadlines lie more than a second ahead
	Tasks     int           // that cannot begin, since no fiber can be made: Config.Exhausted was told why
}

// mostListed is how many fibers the text of a report lists.
const mostListed = 20

// Error is the text of the report. It lists 20 fibers at most; Fibers has them all.
func (d *Deadlock) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v: %s: ", ErrDeadlock, d.Scheduler)
	if len(d.Fibers) > 0 {
		fmt.Fprintf(&b, "%d fibers are blocked, and nothing runs that could wake one: "+
			"wake them, or give their waits a deadline; ", len(d.Fibers))
	}
	fmt.Fprintf(&b, "nothing has happened for %v", d.After)
	for _, f := range d.Fibers[:min(mostListed, len(d.Fibers))] {
		fmt.Fprintf(&b, "\n\t%v", f)
	}
	if more := len(d.Fibers) - mostListed; more > 0 {
		fmt.Fprintf(&b, "\n\tand %d more", more)
	}
	if d.Later > 0 {
		fmt.Fprintf(&b, "\n\tand %d with deadlines that are far ahead", d.Later)
	}
	if d.Tasks > 0 {
		fmt.Fprintf(&b, "\n\tand %d tasks cannot begin: no fiber can be made for them (Config.Exhausted)", d.Tasks)
	}
	return b.String()
}

// Unwrap returns ErrDeadlock.
func (d *Deadlock) Unwrap() error { return ErrDeadlock }

// FiberReport is a fiber in a Deadlock: where it is blocked, and for what. The last three fields may be unknown.
type FiberReport struct {
	Worker int             // the number of the worker that has made it
	Fiber  int             // its number among the fibers of that worker
	Task   string          // the name of its task, if that has one
	Stack  []runtime.Frame // from the function that waits outwards; none in a program of more than 10,000 goroutines
	Call   string          // the method that blocks it, like "fibersync.(*Mutex).Lock"
	For    string          // the lock or channel and its holder, as far as they are known; or empty
}

// String is one line: the fiber, the place of the wait, and what would end it.
func (b FiberReport) String() string {
	task := ""
	if b.Task != "" {
		task = fmt.Sprintf(" (%s)", b.Task)
	}
	text := fmt.Sprintf("worker %d fiber %d%s: %v", b.Worker, b.Fiber, task, Yielded)
	if b.Call != "" {
		text += " by " + b.Call
	}
	if b.For != "" {
		text += " of " + b.For
	}
	if len(b.Stack) > 0 {
		f := b.Stack[0]
		text += fmt.Sprintf(" in %s (%s:%d)", f.Function, f.File, f.Line)
	}
	if remedy := b.remedy(); remedy != "" {
		text += ": " + remedy
	}
	return text
}

// remedies are what ends a wait, by how FiberReport.Call begins.
var remedies = []struct{ call, remedy string }{
	{"sched.(*Fiber).Wait", "make the predicate true, and notify the fiber"},
	{"fibersync.(*Mutex).", lockRemedy},
	{"fibersync.(*RWMutex).", lockRemedy},
	{"fibersync.(*Channel[...]).Send", "receive from the channel, or give it capacity"},
	{"fibersync.(*Channel[...])", "send to the channel, or close it"},
	{"fibersync.Select", "make one of the cases possible, or call TrySelect"},
	{"fibersync.(*Cond).", "change what the condition is about, and signal it after that"},
	{"fibersync.(*Event).", "signal the event"},
	{"fibersync.WaitAny", "signal one of the events"},
	{"fibersync.(*WaitGroup).", "call Done as often as Add has counted"},
	{"fibersync.(*Latch).", "count the latch down to 0"},
	{"fibersync.(*Barrier).", "let as many parties arrive as the barrier has"},
	{"fibersync.(*Once).", "let the function of the first Do return; it must not call Do of the same Once"},
	{"fibersync.(*Semaphore).", "release as many units as are waited for"},
	{"fibersync.(*Future[...])", "settle the promise"},
	{"fibersync.(*Ticket).", "call Done on the ticket before it"},
	{"fibersync.(*BoundedPool[...])", "put an item back"},
}

const lockRemedy = "unlock it before its holder waits"

// remedy is what would end the wait, if that is known.
func (b FiberReport) remedy() string {
	for _, r := range remedies {
		if strings.HasPrefix(b.Call, r.call) {
			if r.remedy == lockRemedy && !debug.On {
				return lockRemedy + "; a build with -tags debug names the holder"
			}
			return r.remedy
		}
	}
	return ""
}
