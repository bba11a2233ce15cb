package sched

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"fiberlab/internal/clock"
	"fiberlab/internal/debug"
	"fiberlab/internal/release"
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
	workers := s.listWorkers()
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
		v.next = min(v.next, w.timers.next(), clock.Instant(w.nextDeadline.Load()))
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
	only    *Worker       // whose fibers are reported; nil: all
	certain bool          // there is no deadlock if a deadline, or a goroutine outside, may end it
	limit   clock.Instant // less than 0: without end
	more    clock.Instant // how much longer than the limit it must be stuck
	found   *Deadlock
	stillness[survey]
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
	if v != o.seen {
		o.more, o.found = 0, nil
	}
	step := stepOf(o.limit)
	if left := o.limit + o.more - o.look(v, step); left > 0 {
		return nil, time.Duration(min(left, step))
	}
	if o.found != nil {
		return o.found, nothing // after the workers have answered it was still the same
	}
	if o.certain && o.s.outsideMayWake() {
		o.more += o.more + o.limit // to ask costs more than to look
		return nil, nothing
	}
	if o.found = o.s.deadlock(o.only); o.found != nil {
		o.found.Later = v.waiting
		o.found.After = time.Duration(o.limit)
	}
	return nil, answerPause
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

// answerPause gives the workers that have been asked the time to sleep again.
const answerPause = 100 * time.Microsecond

// answerLimit is how long askWorkers waits for the answers of the workers.
const answerLimit = 10 * time.Second

// deadlock asks the workers, or the only one if that is not nil, what is blocked. It returns nil if one has not
// answered, since it has found something to run. It blocks.
func (s *Scheduler) deadlock(only *Worker) *Deadlock {
	workers := []*Worker{only}
	if only == nil {
		workers = s.everyWorker()
	}
	d := &Deadlock{Scheduler: s.cfg.Name}
	for _, w := range workers {
		if why := w.shortage.Load(); why != nil {
			if n := w.pendingLocal() + w.pendingOpen() + s.policy.shared(); n > 0 {
				d.Exhausted = append(d.Exhausted, fmt.Errorf("%d tasks cannot begin: %w", n, *why))
			}
		}
	}
	answers, inTime := s.askWorkers(workers)
	if d.Fibers = describe(answers); !inTime || len(d.Fibers)+len(d.Exhausted) == 0 {
		return nil
	}
	return d
}

// check is the question to a worker where its blocked fibers wait. The worker answers
// while it has nothing to run. The answers are the worker's until done is closed.
type check struct {
	done    chan struct{} // closed when the worker has answered
	answers []answer
}

// answer is what is known of a blocked fiber.
type answer struct {
	fiber *Fiber
	task  nameNumber
	self  uintptr      // its goroutine, by fiber.Self
	waits park.Awaited // may be nil
	where []uintptr    // its stack; nil if it could not be entered
}

// askWorkers has workers list their blocked fibers, one after the other. It returns false if others are asking, or if
// one has not answered in time.
func (s *Scheduler) askWorkers(workers []*Worker) (answers []answer, inTime bool) {
	if !s.asking.TryLock() {
		return nil, false
	}
	defer s.asking.Unlock()
	over := time.After(answerLimit)
	for _, w := range workers {
		c := &check{done: make(chan struct{})}
		w.check.Swap(c) // see idle.Word.Look
		w.word.Notify()
		select {
		case <-c.done:
			answers = append(answers, c.answers...)
		case <-over:
			w.check.Store(nil)
			return nil, false
		}
	}
	return answers, true
}

// answer lists the blocked fibers of w. f is the calling fiber. Each blocked fiber is entered, so that it can note its
// stack, and hands the thread back at once. If something to run comes before the end, the list is short.
func (w *Worker) answer(f *Fiber, c *check) {
	o := &w.local
	for _, blocked := range w.scheduler.fibers.list(w) {
		if w.poll(); w.canRun() || w.check.Load() != c {
			break
		}
		o.where = nil
		if old := blocked.load(); old.state() != Yielded {
			continue
		} else if blocked == f {
			f.noteStack()
		} else if old&unpublished != 0 || !blocked.mark(old, old|unpublished) {
			continue
		} else if blocked.worker.Load() != w { // it has migrated since it was listed
			blocked.publish()
			continue
		} else {
			o.asked, o.asker = blocked, f
			if f.fiber.SwitchTo(blocked.fiber) != nil {
				o.asked = nil // f, in a callback from C, cannot leave its thread
			}
			release.Store(&w.running, f.self.Load()) // blocked has put itself there
		}
		name, _ := blocked.taskName()
		c.answers = append(c.answers, answer{blocked, name, uintptr(blocked.self.Load()), blocked.awaits, o.where})
		if blocked != f {
			blocked.publish()
		}
	}
	if w.check.CompareAndSwap(c, nil) {
		close(c.done)
	}
}

// noteStack leaves the stack of f, the calling fiber, for answer.
func (f *Fiber) noteStack() {
	var pcs [64]uintptr
	f.worker.Load().local.where = slices.Clone(pcs[:runtime.Callers(3, pcs[:])])
}

// Deadlock is the error of a scheduler that runs nothing, can begin nothing, and has fibers
// blocked without a deadline: only a thread outside of it could still notify them.
// It wraps ErrDeadlock.
type Deadlock struct {
	Scheduler string
	After     time.Duration // for how long nothing has happened
	Fibers    []FiberReport // all of them, by worker
	Later     int           // further fibers, whose deadlines lie more than a second ahead
	Exhausted []error       // why workers can make no fiber for tasks that have not begun
}

// mostListed is how many fibers the text of a report lists.
const mostListed = 20

// Error is the text of the report. It lists 20 fibers at most; Fibers has them all.
func (d *Deadlock) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v: %s: %d fibers are blocked, and nothing runs that could wake one: "+
		"wake them, or give their waits a deadline; nothing has happened for %v",
		ErrDeadlock, d.Scheduler, len(d.Fibers), d.After)
	for _, f := range d.Fibers[:min(mostListed, len(d.Fibers))] {
		fmt.Fprintf(&b, "\n\t%v", f)
	}
	if more := len(d.Fibers) - mostListed; more > 0 {
		fmt.Fprintf(&b, "\n\tand %d more", more)
	}
	if d.Later > 0 {
		fmt.Fprintf(&b, "\n\tand %d with deadlines that are far ahead", d.Later)
	}
	for _, err := range d.Exhausted[:min(mostListed, len(d.Exhausted))] {
		fmt.Fprintf(&b, "\n\t%v", err)
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
	Stack  []runtime.Frame // from the function that waits outwards; fibers at one place share it
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

// describe puts answers into words. Fibers with the same stack share its frames.
func describe(answers []answer) []FiberReport {
	names := make(map[uintptr]string) // of fibers that may hold what others wait for
	for _, a := range answers {
		if a.self != 0 {
			names[a.self] = fmt.Sprintf("worker %d fiber %d", a.fiber.maker.id, a.fiber.id)
		}
	}
	places := make(map[string]FiberReport)
	list := make([]FiberReport, len(answers))
	for i, a := range answers {
		key := fmt.Sprint(a.where)
		place, known := places[key]
		if !known {
			place.Stack, place.Call = frames(a.where)
			places[key] = place
		}
		b := place
		b.Worker, b.Fiber, b.Task = a.fiber.maker.id, a.fiber.id, a.fiber.maker.scheduler.names.of(a.task)
		if a.waits != nil {
			what, holder := a.waits.Awaited()
			b.For = what
			if holder != 0 && holder == a.self {
				b.For += ", which it holds itself,"
			} else if name := names[holder]; name != "" {
				b.For += ", which " + name + " holds,"
			} else if holder != 0 {
				b.For += ", which none of these holds,"
			}
		}
		list[i] = b
	}
	return list
}
