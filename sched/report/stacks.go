package report

import (
	"runtime"
	"slices"
	"strings"

	"fiberlab/internal/goroutine"
)

// mostGoroutines is how many goroutines a program may have for reports to have their stacks. To write 1,000 of them
// stops the program for some 50 ms.
const mostGoroutines = 10_000

// Traces returns the traces of all goroutines by their numbers, or false if there are more than 10,000. It stops the
// program for a moment.
func Traces() (traces map[uint64]goroutine.Trace, ok bool) { return goroutine.All(mostGoroutines) }

// The packages whose functions are the wait itself, and not the place of it.
var waitPackages = []string{
	"fiberlab/sched.", "fiberlab/sched/park.", "fiberlab/sched/fibersync.", "fiberlab/sched/forkjoin.",
	"fiberlab/internal/admission.",
}

// hasPrefix reports whether text begins with one of these.
func hasPrefix(text string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(text, p) })
}

// callsTask reports whether f calls the function of a task, or the function that Run was given.
func callsTask(f runtime.Frame) bool {
	switch f.Function {
	case "fiberlab/sched.(*Fiber).execute", "fiberlab/sched.Run":
		return true
	}
	return false
}

// WaitIn returns which waiting function of sched, park, fibersync or forkjoin a task has called, and the places of the
// task's own functions, from the stack of its fiber.
func WaitIn(stack []runtime.Frame) (list []runtime.Frame, call string) {
	for _, f := range stack {
		switch {
		case callsTask(f):
			return list, call
		case hasPrefix(f.Function, waitPackages):
			if len(list) == 0 {
				call = strings.TrimPrefix(f.Function, "fiberlab/sched/")
				call = strings.TrimPrefix(call, "fiberlab/")
			}
		case call != "": // what is further inside switches the fiber
			list = append(list, f)
		}
	}
	return list, call
}

// WaitingCall names the function of these packages in which the calling task is about to wait.
func WaitingCall() string {
	var pcs [32]uintptr
	var stack []runtime.Frame
	for walk, more := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])]), true; more; {
		var f runtime.Frame
		f, more = walk.Next()
		stack = append(stack, f)
	}
	_, call := WaitIn(stack)
	call, _, _ = strings.Cut(strings.ReplaceAll(call, "[...]", ""), ".func") // the body of an iterator
	return call
}

// BlockedTask returns the stack of the task, or of the function of Run, that the goroutine of that number runs. It
// returns nil unless the task is in a call of Go that blocks the thread. A call of C may compute: it does not count.
// BlockedTask stops the program for a moment.
func BlockedTask(number uint64) []runtime.Frame {
	traces, _ := Traces()
	t := traces[number]
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

// needsGoroutine are how the states begin in which a goroutine waits until another goroutine does something.
var needsGoroutine = []string{"chan send", "chan receive (nil", "select (no", "sync.", "semacquire", "coroutine"}

// MayWake reports whether a goroutine of the program may come to wake a fiber, although no fiber does anything; true if
// there are too many goroutines to look at. It stops the program for a moment.
func MayWake() bool {
	traces, ok := Traces()
	for _, t := range traces {
		if mayWake(t) {
			return true
		}
	}
	return !ok
}

// mayWake reports whether the goroutine may come to wake a fiber, although no fiber and no other goroutine does
// anything. Where it receives or selects, a timer may end that.
func mayWake(t goroutine.Trace) bool {
	switch {
	case t.At("fiberlab/fiber"), t.In("fiberlab/sched.(*Worker).waitForWork("):
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
