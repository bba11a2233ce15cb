package sched

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"fiberlab/internal/debug"
)

// Blocked is a fiber that is blocked, where, and for what. In a Remaining, only Worker, Fiber, Task and State may be known.
type Blocked struct {
	Worker int             // its worker's number
	Fiber  int             // its own number on that worker
	Task   string          // the name of its task, if that has one
	State  State           // Yielded; in a Remaining also Waiting
	Stack  []runtime.Frame // from the function that waits outwards; fibers at one place share it
	Call   string          // the method that blocks it, like "fibersync.(*Mutex).Lock"
	For    string          // the lock or channel and its holder, as far as they are known; or empty
}

// String is one line: the fiber, its state, the place of the wait, and what would end it.
func (b Blocked) String() string {
	task := b.Task
	if task != "" {
		task = fmt.Sprintf(" (%s)", task)
	}
	text := fmt.Sprintf("worker %d fiber %d%s: %s", b.Worker, b.Fiber, task, b.place(b.For))
	if remedy := b.remedy(); remedy != "" {
		text += ": " + remedy
	}
	return text
}

// remedies are what ends a wait, by a part of Blocked.Call.
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
func (b Blocked) remedy() string {
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

// place is the state, what for, and where.
func (b Blocked) place(what string) string {
	text := b.State.String()
	if b.Call != "" {
		text += " by " + b.Call
	}
	if what != "" {
		text += " of " + what
	}
	if len(b.Stack) > 0 {
		f := b.Stack[0]
		text += fmt.Sprintf(" in %s (%s:%d)", f.Function, f.File, f.Line)
	}
	return text
}

// Deadlock is the error of a scheduler that runs nothing, can begin nothing, and has fibers
// blocked without a deadline: only a thread outside of it could still notify them.
// It wraps ErrDeadlock.
type Deadlock struct {
	Scheduler string
	After     time.Duration // for how long nothing has happened
	Fibers    []Blocked     // all of them, by worker
	Later     int           // further fibers, whose deadlines lie more than a second ahead
	Exhausted []error       // why workers can make no fiber for tasks that have not begun
}

// mostListed and mostPlaces bound the text of a Deadlock: how many fibers have a line each,
// and how many places of the others are listed.
const (
	mostListed = 20
	mostPlaces = 5
)

// Error is the text of the report. It has some 30 lines at most, however many fibers
// are blocked; Fibers has them all.
func (d *Deadlock) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v: %s: %d fibers are blocked, and nothing runs that could wake one: "+
		"wake them, or give their waits a deadline; nothing has happened for %v",
		ErrDeadlock, d.Scheduler, len(d.Fibers), d.After)
	listBlocked(&b, d.Fibers)
	if d.Later > 0 {
		fmt.Fprintf(&b, "\n\tand %d with deadlines that are far ahead", d.Later)
	}
	for _, err := range d.Exhausted[:min(mostPlaces, len(d.Exhausted))] {
		fmt.Fprintf(&b, "\n\t%v", err)
	}
	return b.String()
}

// listBlocked writes a line for each fiber, or for most of them and a summary of the others.
func listBlocked(b *strings.Builder, fibers []Blocked) {
	for _, f := range fibers[:min(mostListed, len(fibers))] {
		fmt.Fprintf(b, "\n\t%v", f)
	}
	if len(fibers) > mostListed {
		summarize(b, fibers[mostListed:])
	}
}

// summarize writes how many fibers there are, and at which places most of them are.
func summarize(b *strings.Builder, fibers []Blocked) {
	count := make(map[string]int)
	var places []string
	for _, f := range fibers {
		p := f.place("")
		if count[p] == 0 {
			places = append(places, p)
		}
		count[p]++
	}
	slices.SortStableFunc(places, func(p, q string) int { return count[q] - count[p] })
	fmt.Fprintf(b, "\n\tand %d more, at %d places:", len(fibers), len(places))
	for _, p := range places[:min(mostPlaces, len(places))] {
		fmt.Fprintf(b, "\n\t\t%d %s", count[p], p)
	}
}

// Unwrap returns ErrDeadlock.
func (d *Deadlock) Unwrap() error { return ErrDeadlock }
