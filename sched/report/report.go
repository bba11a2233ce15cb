// Package report has the reports of deadlocks and stalls that package sched gives, and reads the stack traces of
// goroutines for them. It knows the primitives that tasks wait by; the scheduler does not. The files
// sched/deadlock.go and sched/watchdog.go find out whether anything goes on.
//
//	report.go  a deadlock, a fiber in it, a stall: what their texts say, and what would end a wait
//	stacks.go  where a task waits, what blocks its thread, and which goroutines may still wake a fiber
package report

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"fiberlab/internal/debug"
)

// The errors that reports wrap.
var (
	ErrDeadlock = errors.New("deadlock")
	ErrStalled  = errors.New("stalled")
)

// Deadlock is the error of a scheduler that runs nothing, and in which fibers are blocked without a deadline or tasks
// cannot begin. Only a thread outside of it could still notify the fibers. It wraps ErrDeadlock.
type Deadlock struct {
	Scheduler string
	After     time.Duration // for how long nothing has happened
	Fibers    []Fiber       // those without a deadline, by worker; from Unbind, those of its worker
	Later     int           // fibers of all workers with deadlines, which lie more than a second ahead
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

// Fiber is a fiber in a Deadlock: where it is blocked, and for what. The last three fields may be unknown.
type Fiber struct {
	Worker int             // the number of the worker that has made it
	Fiber  int             // its number among the fibers of that worker
	Task   string          // the name of its task, if that has one
	Stack  []runtime.Frame // from the function that waits outwards; none in a program of more than 10,000 goroutines
	Call   string          // the method that blocks it, like "fibersync.(*Mutex).Lock"
	For    string          // the lock or channel and its holder, as far as they are known; or empty
}

// String is one line: the fiber, the place of the wait, and what would end it.
func (b Fiber) String() string {
	task := ""
	if b.Task != "" {
		task = fmt.Sprintf(" (%s)", b.Task)
	}
	text := fmt.Sprintf("worker %d fiber %d%s: Yielded", b.Worker, b.Fiber, task)
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

// remedies are what ends a wait, by how Fiber.Call begins.
var remedies = []struct{ call, remedy string }{
	{"sched.(*Fiber).Wait", "make the predicate true, and notify the fiber"},
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
func (b Fiber) remedy() string {
	if strings.Contains(b.For, "the mutex ") { // whatever locks it: a condition does so after a signal
		if !debug.On {
			return lockRemedy + "; a build with -tags debug names the holder"
		}
		return lockRemedy
	}
	for _, r := range remedies {
		if strings.HasPrefix(b.Call, r.call) {
			return r.remedy
		}
	}
	return ""
}

// Stall is the error of a worker that has been in one task for long, while fibers or tasks wait for it. The task is in
// a call that blocks the thread, such as a receive from a Go channel. It wraps ErrStalled.
type Stall struct {
	Scheduler string
	Worker    int             // its number
	After     time.Duration   // for how long, at least
	Fibers    int             // that are blocked or ready, and can only go on on this worker
	Tasks     int             // that wait for this worker
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
